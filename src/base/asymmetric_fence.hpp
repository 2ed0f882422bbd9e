/// A store-load fence with its cost on one side: the frequent side pays nothing, the rare side asks
/// the kernel to run a full fence on every thread of the process (Linux `membarrier`, 4.14).
///
/// If A stores X, calls `light_fence` and loads Y, while B stores Y, calls `heavy_fence` and loads
/// X, then at least one of them sees the other's store. Where the kernel does not offer it, both
/// sides are ordinary sequentially consistent fences.
#pragma once

#include <atomic>

namespace ray::detail {

namespace asymmetric {
/// Whether `heavy_fence` interrupts the other threads. Set before any thread of a pool starts.
extern const bool available;
}  // namespace asymmetric

inline void light_fence() noexcept {
  if (asymmetric::available) [[likely]] {
    std::atomic_signal_fence(std::memory_order_seq_cst);
  } else {
    std::atomic_thread_fence(std::memory_order_seq_cst);
  }
}

void heavy_fence() noexcept;

}  // namespace ray::detail
