/// The work-stealing deque of one thread: its owner pushes and pops at the bottom, anyone steals
/// at the top.
///
/// Chase and Lev (SPAA 2005), as corrected for weak memory by Le, Pop, Cohen and Zappa Nardelli
/// (PPoPP 2013). Sequentially consistent operations stand where the paper has fences: on x86 the
/// code is the same (one exchange in `pop`), on Arm they are cheaper, and the thread sanitizer,
/// which does not model fences, understands them.
#pragma once

#include <ray/detail/exec/job.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace ray::detail::exec {

class deque {
 public:
  deque() { use(add_buffer(initial_capacity)); }

  deque(const deque&) = delete;
  deque& operator=(const deque&) = delete;

  /// Owner only. Grows without bound; throws bad_alloc, and then nothing was pushed.
  void push(job* item) {
    const std::int64_t bottom = bottom_.load(std::memory_order_relaxed);
    // `top_` only grows, so a stale copy can only make the deque look fuller than it is.
    if (bottom - cached_top_ > mask_) [[unlikely]]
      make_room(bottom);
    // Relaxed, as all slots: `bottom_` publishes one, and `top_` decides who owns it.
    slot(bottom).store(item, std::memory_order_relaxed);
    // Release: whoever steals the item sees what was written into it before the push.
    bottom_.store(bottom + 1, std::memory_order_release);
  }

  /// Owner only: the newest item, or null.
  job* pop() noexcept {
    const std::int64_t bottom = bottom_.load(std::memory_order_relaxed) - 1;
    // Nothing there: seen without the exchange. Sound, because only the owner adds.
    if (bottom < top_.load(std::memory_order_relaxed)) return nullptr;
    return take(bottom);
  }

  /// Owner only: whether `item` is the newest one, unless a thief takes it meanwhile.
  [[nodiscard]] bool is_newest(const job* item) const noexcept {
    const std::int64_t bottom = bottom_.load(std::memory_order_relaxed) - 1;
    return bottom >= top_.load(std::memory_order_relaxed) &&
           slot(bottom).load(std::memory_order_relaxed) == item;
  }

  /// Any thread: the oldest item, or null when there is none or another thread won it.
  job* steal() noexcept {
    std::int64_t top = top_.load(std::memory_order_seq_cst);
    const std::int64_t bottom = bottom_.load(std::memory_order_seq_cst);
    if (top >= bottom) return nullptr;
    // Acquire pairs with `use`: the array's contents are seen. Old arrays stay until the end.
    job* item = buffer_.load(std::memory_order_acquire)->at(top).load(std::memory_order_relaxed);
    if (!top_.compare_exchange_strong(top, top + 1, std::memory_order_seq_cst,
                                      std::memory_order_relaxed)) {
      return nullptr;
    }
    return item;
  }

  /// Any thread; exact for the owner, a guess for others.
  [[nodiscard]] bool empty() const noexcept {
    return top_.load(std::memory_order_relaxed) >= bottom_.load(std::memory_order_relaxed);
  }

 private:
  static constexpr std::int64_t initial_capacity = 256;
  static constexpr std::size_t cache_line = 64;

  struct buffer {
    std::int64_t mask;
    std::unique_ptr<std::atomic<job*>[]> slots;
    [[nodiscard]] std::atomic<job*>& at(std::int64_t index) const noexcept {
      return slots[static_cast<std::size_t>(index & mask)];
    }
  };

  [[nodiscard]] std::atomic<job*>& slot(std::int64_t index) const noexcept {
    return slots_[index & mask_];
  }

  job* take(std::int64_t bottom) noexcept {
    // The store must be seen before `top_` is read, or owner and thief could both take the item.
    bottom_.store(bottom, std::memory_order_seq_cst);
    std::int64_t top = top_.load(std::memory_order_seq_cst);
    if (top > bottom) {  // a thief took the last one
      bottom_.store(bottom + 1, std::memory_order_relaxed);
      return nullptr;
    }
    job* item = slot(bottom).load(std::memory_order_relaxed);
    if (top == bottom) {  // the last one: race the thieves for it
      if (!top_.compare_exchange_strong(top, top + 1, std::memory_order_seq_cst,
                                        std::memory_order_relaxed)) {
        item = nullptr;
      }
      bottom_.store(bottom + 1, std::memory_order_relaxed);
    }
    return item;
  }

  buffer* add_buffer(std::int64_t capacity) {
    auto slots = std::make_unique<std::atomic<job*>[]>(static_cast<std::size_t>(capacity));
    buffers_.push_back(std::make_unique<buffer>(buffer{capacity - 1, std::move(slots)}));
    return buffers_.back().get();
  }

  void use(buffer* one) noexcept {
    slots_ = one->slots.get();
    mask_ = one->mask;
    buffer_.store(one, std::memory_order_release);
  }

  [[gnu::noinline, gnu::cold]] void make_room(std::int64_t bottom) {
    cached_top_ = top_.load(std::memory_order_acquire);
    if (bottom - cached_top_ <= mask_) return;
    buffer* bigger = add_buffer((mask_ + 1) * 2);
    for (std::int64_t index = cached_top_; index < bottom; ++index) {
      bigger->at(index).store(slot(index).load(std::memory_order_relaxed),
                              std::memory_order_relaxed);
    }
    use(bigger);
  }

  // Invariant: the items are those at [top_, bottom_) of the current buffer. Only the owner moves
  // `bottom_` and `buffer_`; `top_` only grows, by one compare-exchange an item.
  alignas(cache_line) std::atomic<std::int64_t> top_{0};
  alignas(cache_line) std::atomic<std::int64_t> bottom_{0};
  std::int64_t cached_top_ = 0;
  // The owner's copy of what `buffer_` points to, one step nearer.
  std::atomic<job*>* slots_ = nullptr;
  std::int64_t mask_ = 0;
  std::atomic<buffer*> buffer_{nullptr};
  // A thief may still read an old buffer, so all are kept; together they are twice the last one.
  std::vector<std::unique_ptr<buffer>> buffers_;
};

}  // namespace ray::detail::exec
