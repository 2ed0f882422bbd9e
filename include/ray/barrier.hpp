/// `ray::barrier`: a number of tasks meet before any goes on.
#pragma once

#include <ray/detail/runtime/exported.hpp>
#include <ray/detail/runtime/meeting.hpp>

#include <cstddef>
#include <memory>

namespace ray {

/// A copyable, serializable handle; empty by default. It can be used again: the next round begins
/// when the last of one has arrived.
class barrier {
 public:
  barrier() noexcept = default;
  /// For `count` arrivals a round. Throws usage_error when that is 0.
  explicit barrier(std::size_t count);

  /// Blocks until all have arrived; lends the CPU slot as `get` does. Throws cancelled_error.
  void arrive_and_wait() const;

  [[nodiscard]] bool valid() const noexcept { return state_ != nullptr; }
  friend bool operator==(const barrier&, const barrier&) noexcept = default;

  template <typename Archive>
  void save(Archive& archive) const {
    archive(detail::export_handle(state_.get(), state_));
  }
  template <typename Archive>
  void load(Archive& archive) {
    detail::exported_handle one;
    archive(one);
    state_ = std::static_pointer_cast<state>(detail::import_handle(one));
  }

 private:
  struct state {
    detail::meeting meeting;  // guards what follows
    std::size_t count = 0;
    std::size_t arrived = 0;
    std::size_t round = 0;
  };

  std::shared_ptr<state> state_;
};

}  // namespace ray
