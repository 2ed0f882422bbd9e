/// A loop over indexes that the pool's threads and the caller share.
#pragma once

#include <cstddef>
#include <type_traits>

namespace ray::detail {

/// How a loop is cut: chunks of `grain` indexes, the last one shorter.
class loop_shape {
 public:
  /// `grain` 0: chosen by the size alone, so that sums do not depend on the machine.
  loop_shape(std::size_t size, std::size_t grain) noexcept
      : size_(size), grain_(grain != 0 ? grain : chosen_grain(size)) {}
  [[nodiscard]] std::size_t grain() const noexcept { return grain_; }
  [[nodiscard]] std::size_t chunks() const noexcept {
    return size_ / grain_ + (size_ % grain_ != 0 ? 1 : 0);
  }

 private:
  static constexpr std::size_t most_chunks = 512;
  static std::size_t chosen_grain(std::size_t size) noexcept {
    return size < most_chunks ? 1 : (size + most_chunks - 1) / most_chunks;
  }
  std::size_t size_;
  std::size_t grain_;
};

/// Calls `body(context, begin, end)` for each chunk, on pool threads and this one; returns when all
/// that began have returned. Rethrows the first exception.
void run_chunks(std::size_t size, std::size_t grain,
                void (*body)(void* context, std::size_t begin, std::size_t end), void* context);

template <typename Body>
void run_loop(std::size_t size, std::size_t grain, Body&& body) {
  run_chunks(
      size, loop_shape(size, grain).grain(),
      [](void* context, std::size_t begin, std::size_t end) {
        (*static_cast<std::remove_reference_t<Body>*>(context))(begin, end);
      },
      &body);
}

}  // namespace ray::detail
