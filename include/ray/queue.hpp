/// `ray::queue<T>`: values from any number of writers to any number of readers.
#pragma once

#include <ray/detail/runtime/exported.hpp>
#include <ray/detail/runtime/meeting.hpp>
#include <ray/duration.hpp>
#include <ray/error.hpp>
#include <ray/serializable.hpp>

#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <utility>

namespace ray {

/// A copyable, serializable handle of a queue; empty by default. First in, first out. The blocking
/// calls lend the CPU slot as `get` does, and throw usage_error for an empty handle or without a
/// session. All members may be called from any thread.
template <typename Value>
class queue {
 public:
  queue() noexcept = default;
  /// `capacity` 0: unbounded.
  explicit queue(std::size_t capacity) : state_(std::make_shared<state>()) {
    require_serializable<Value>();
    detail::require_session();
    state_->capacity = capacity;
  }

  /// Blocks while the queue is full. Throws usage_error when it is closed, timeout_error.
  void put(Value value, duration timeout = forever) const {
    state& own = require();
    const bool done = own.meeting.wait(timeout, "room in a queue", [&] {
      if (!own.closed && own.full()) return false;
      if (own.closed) detail::throw_queue_closed();
      own.items.push_back(std::move(value));
      return true;
    });
    if (!done) detail::throw_queue_timeout("put", timeout);
  }

  /// Blocks while the queue is empty. Throws usage_error when it is closed and empty,
  /// timeout_error.
  Value get(duration timeout = forever) const {
    state& own = require();
    std::optional<Value> taken;
    const bool done = own.meeting.wait(timeout, "an item of a queue", [&] {
      if (own.items.empty()) {
        if (own.closed) detail::throw_queue_closed();
        return false;
      }
      taken.emplace(std::move(own.items.front()));
      own.items.pop_front();
      return true;
    });
    if (!done) detail::throw_queue_timeout("get", timeout);
    return std::move(*taken);
  }

  /// False when the queue is full or closed. Never blocks.
  bool try_put(Value value) const {
    state& own = require();
    return own.meeting.change([&] {
      if (own.closed || own.full()) return false;
      own.items.push_back(std::move(value));
      return true;
    });
  }

  /// Nothing when the queue is empty. Never blocks.
  [[nodiscard]] std::optional<Value> try_get() const {
    state& own = require();
    std::optional<Value> taken;
    own.meeting.change([&] {
      if (own.items.empty()) return false;
      taken.emplace(std::move(own.items.front()));
      own.items.pop_front();
      return true;
    });
    return taken;
  }

  /// How many values wait now. Never blocks.
  [[nodiscard]] std::size_t size() const {
    state& own = require();
    std::size_t count = 0;
    own.meeting.change([&] {
      count = own.items.size();
      return false;
    });
    return count;
  }

  /// Nothing more is put; what is there can be taken. Who waits is told.
  void close() const {
    state& own = require();
    own.meeting.change([&] { return own.closed = true; });
  }

  [[nodiscard]] bool valid() const noexcept { return state_ != nullptr; }
  friend bool operator==(const queue&, const queue&) noexcept = default;

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
    std::size_t capacity = 0;
    bool closed = false;
    std::deque<Value> items;
    [[nodiscard]] bool full() const noexcept { return capacity != 0 && items.size() >= capacity; }
  };

  [[nodiscard]] state& require() const {
    if (state_ == nullptr) detail::throw_empty_handle("queue");
    detail::require_session();
    return *state_;
  }

  std::shared_ptr<state> state_;
};

}  // namespace ray
