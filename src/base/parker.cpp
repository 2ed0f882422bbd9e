#include "base/parker.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace ray::detail {
namespace {

long futex(std::atomic<std::uint32_t>& word, int operation, std::uint32_t value,
           const timespec* timeout) noexcept {
  return ::syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), operation, value, timeout,
                   nullptr, 0);
}

}  // namespace

void parker::park() noexcept {
  std::uint32_t expected = empty;
  if (state_.compare_exchange_strong(expected, sleeping, std::memory_order_relaxed)) {
    do {
      futex(state_, FUTEX_WAIT_PRIVATE, sleeping, nullptr);
    } while (state_.load(std::memory_order_relaxed) == sleeping);
  }
  state_.exchange(empty, std::memory_order_acquire);
}

bool parker::park_until(time_point deadline) noexcept {
  std::uint32_t expected = empty;
  if (state_.compare_exchange_strong(expected, sleeping, std::memory_order_relaxed)) {
    while (state_.load(std::memory_order_relaxed) == sleeping) {
      const auto left = std::chrono::duration_cast<std::chrono::nanoseconds>(
          deadline - std::chrono::steady_clock::now());
      if (left.count() <= 0) {
        expected = sleeping;
        if (state_.compare_exchange_strong(expected, empty, std::memory_order_relaxed)) {
          return false;
        }
        break;
      }
      timespec timeout{};
      timeout.tv_sec = static_cast<time_t>(left.count() / 1'000'000'000);
      timeout.tv_nsec = static_cast<long>(left.count() % 1'000'000'000);
      futex(state_, FUTEX_WAIT_PRIVATE, sleeping, &timeout);
    }
  }
  state_.exchange(empty, std::memory_order_acquire);
  return true;
}

void parker::unpark() noexcept {
  // The exchange is the last touch of the parker's memory; the wake needs only its address.
  if (state_.exchange(permit, std::memory_order_release) == sleeping) {
    futex(state_, FUTEX_WAKE_PRIVATE, 1, nullptr);
  }
}

}  // namespace ray::detail
