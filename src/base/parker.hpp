/// A binary semaphore that one thread sleeps on: `park` takes the permit, `unpark` leaves it.
///
/// A futex word with three values. Parkers live in thread records that are never freed (see
/// `exec/thread_record.hpp`), so a late `unpark` at worst leaves a stray permit: every caller of
/// `park` re-checks what it waits for.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace ray::detail {

class parker {
 public:
  using time_point = std::chrono::steady_clock::time_point;

  /// Returns when there was or came a permit, taking it. May not return early.
  void park() noexcept;
  /// As `park`, or false when `deadline` passed first.
  bool park_until(time_point deadline) noexcept;
  /// Leaves a permit; wakes the sleeper. What was written before is visible to it.
  void unpark() noexcept;

 private:
  static constexpr std::uint32_t empty = 0, permit = 1, sleeping = 2;

  // Invariant: `sleeping` is set by the owner alone and only from `empty`; anyone may set `permit`.
  std::atomic<std::uint32_t> state_{empty};
};

}  // namespace ray::detail
