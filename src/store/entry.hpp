/// One tracked object of the store: where its value lies, how many pin it, and whether the value is
/// in memory or in a spill file. All that decides who may touch the value is in one atomic word, so
/// that pinning what is in memory is one instruction and takes no lock.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include <ray/detail/base/value_operations.hpp>
#include <ray/id.hpp>
#include "store/record.hpp"

namespace ray::detail::store {

/// A moment on a clock that all threads share and that costs a few nanoseconds to read. It only
/// orders objects by their last use, so it does no harm where the cores' counters disagree.
[[nodiscard]] inline std::uint64_t moment() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  return __builtin_ia32_rdtsc();
#else
  return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
#endif
}

/// One tracked object. Made and freed by `object_store`; to everybody else it is a handle.
///
/// Invariant: `state_` is the number of pins plus a phase. The phase moves
///
///     resident -> saving -> evicting -> spilled -> restoring -> resident
///
/// and back from `saving` to `resident` when somebody has pinned the value meanwhile, and from
/// `restoring` to `spilled` when the value could not be read. Anyone may add a pin in any phase; a
/// pin holds the value if the phase was `resident` or `saving` at that instant, because `saving`
/// becomes `evicting` by a compare-exchange that demands zero pins. In every other phase the pin
/// is only a claim, and its owner waits for the value under the lock of the shard. `saving`,
/// `evicting` and `restoring` each have one owner, the thread that moved the phase there, and it
/// alone writes the fields below `state_`; everybody else reads them under the lock of the shard.
class entry {
 public:
  entry(void* value, const value_operations& operations, object_id id) noexcept
      : value_(value), operations_(&operations), id_(id) {}

  entry(const entry&) = delete;
  entry& operator=(const entry&) = delete;

  [[nodiscard]] object_id id() const noexcept { return id_; }
  [[nodiscard]] void* value() const noexcept { return value_; }

 private:
  friend class object_store;

  enum phase : std::uint64_t { resident, saving, evicting, spilled, restoring };

  static constexpr int phase_shift = 32;
  static constexpr std::uint64_t one_pin = 1;
  static constexpr std::uint64_t pin_mask = (std::uint64_t{1} << phase_shift) - 1;
  /// Below this, a state belongs to a phase in which the value is in memory.
  static constexpr std::uint64_t in_memory = std::uint64_t{evicting} << phase_shift;

  [[nodiscard]] static phase phase_of(std::uint64_t state) noexcept {
    return static_cast<phase>(state >> phase_shift);
  }
  [[nodiscard]] phase current_phase() const noexcept {
    return phase_of(state_.load(std::memory_order_acquire));
  }
  [[nodiscard]] std::uint64_t pins() const noexcept {
    return state_.load(std::memory_order_seq_cst) & pin_mask;
  }

  /// Moves the phase from `from`, which the caller owns, to `to`, leaving the pins alone. Release:
  /// who sees the new phase sees what its owner did to the value.
  void move_phase(phase from, phase to) noexcept {
    state_.fetch_add((static_cast<std::uint64_t>(to) - static_cast<std::uint64_t>(from))
                         << phase_shift,
                     std::memory_order_acq_rel);
  }
  /// `from` to `to` if nothing pins the value. Acquire pairs with the release of the last unpin:
  /// what the last reader did comes before the value is touched.
  [[nodiscard]] bool move_phase_unpinned(phase from, phase to) noexcept {
    std::uint64_t expected = static_cast<std::uint64_t>(from) << phase_shift;
    return state_.compare_exchange_strong(expected, static_cast<std::uint64_t>(to) << phase_shift,
                                          std::memory_order_seq_cst, std::memory_order_relaxed);
  }

  std::atomic<std::uint64_t> state_{0};
  /// When the last pin went, or the value came. Relaxed: a guess that is a little old is as good.
  std::atomic<std::uint64_t> used_{moment()};

  void* const value_;
  const value_operations* const operations_;
  const object_id id_;
  /// Heap bytes that spilling frees; for a type without `heap_size`, its serialized bytes once the
  /// courier has counted them.
  std::size_t size_ = 0;
  /// Where the serialized value lies. Values never change, so a record stays good after a restore,
  /// and a second spill of the same object writes nothing.
  record record_;
  std::uint32_t index_ = 0;       // in its shard's table
  std::uint32_t batch_slot_ = 0;  // in the courier's batch, while `saving`
  std::uint8_t shard_ = 0;
  bool sized_ = false;
  bool unspillable_ = false;  // its serializer threw
};

}  // namespace ray::detail::store
