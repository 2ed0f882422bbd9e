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
#include <vector>

namespace ray::detail::exec {

class deque {
 public:
  deque() { buffer_.store(add_buffer(initial_capacity), std::memory_order_relaxed); }

  deque(const deque&) = delete;
  deque& operator=(const deque&) = delete;

  /// Owner only. Grows without bound; throws bad_alloc, and then nothing was pushed.
  void push(job* item) {
    const std::int64_t bottom = bottom_.load(std::memory_order_relaxed);
    buffer* array = buffer_.load(std::memory_order_relaxed);
    // `top_` only grows, so a stale copy can only make the deque look fuller than it is.
    if (bottom - cached_top_ >= array->capacity()) [[unlikely]] {
      cached_top_ = top_.load(std::memory_order_acquire);
      if (bottom - cached_top_ >= array->capacity()) array = grow(array, bottom, cached_top_);
    }
    array->put(bottom, item);
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

  /// Owner only: removes `item` if it is the newest one.
  bool pop_if(job* item) noexcept {
    const std::int64_t bottom = bottom_.load(std::memory_order_relaxed) - 1;
    if (bottom < top_.load(std::memory_order_relaxed)) return false;
    if (buffer_.load(std::memory_order_relaxed)->get(bottom) != item) return false;
    return take(bottom) != nullptr;
  }

  /// Any thread: the oldest item, or null when there is none or another thread won it.
  job* steal() noexcept {
    std::int64_t top = top_.load(std::memory_order_seq_cst);
    const std::int64_t bottom = bottom_.load(std::memory_order_seq_cst);
    if (top >= bottom) return nullptr;
    // Acquire pairs with `grow`: the array's contents are seen. Old arrays stay until the end.
    job* item = buffer_.load(std::memory_order_acquire)->get(top);
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

  class buffer {
   public:
    explicit buffer(std::int64_t capacity)
        : mask_(capacity - 1),
          slots_(std::make_unique<std::atomic<job*>[]>(static_cast<std::size_t>(capacity))) {}
    [[nodiscard]] std::int64_t capacity() const noexcept { return mask_ + 1; }
    // Relaxed: `bottom_` publishes a slot, and `top_` decides who owns it.
    [[nodiscard]] job* get(std::int64_t index) const noexcept {
      return slots_[static_cast<std::size_t>(index & mask_)].load(std::memory_order_relaxed);
    }
    void put(std::int64_t index, job* item) noexcept {
      slots_[static_cast<std::size_t>(index & mask_)].store(item, std::memory_order_relaxed);
    }

   private:
    std::int64_t mask_;
    std::unique_ptr<std::atomic<job*>[]> slots_;
  };

  job* take(std::int64_t bottom) noexcept {
    buffer* array = buffer_.load(std::memory_order_relaxed);
    // The store must be seen before `top_` is read, or owner and thief could both take the item.
    bottom_.store(bottom, std::memory_order_seq_cst);
    std::int64_t top = top_.load(std::memory_order_seq_cst);
    if (top > bottom) {  // a thief took the last one
      bottom_.store(bottom + 1, std::memory_order_relaxed);
      return nullptr;
    }
    job* item = array->get(bottom);
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
    buffers_.push_back(std::make_unique<buffer>(capacity));
    return buffers_.back().get();
  }

  buffer* grow(const buffer* old, std::int64_t bottom, std::int64_t top) {
    buffer* bigger = add_buffer(old->capacity() * 2);
    for (std::int64_t index = top; index < bottom; ++index) bigger->put(index, old->get(index));
    buffer_.store(bigger, std::memory_order_release);
    return bigger;
  }

  // Invariant: the items are those at [top_, bottom_) of the current buffer. Only the owner moves
  // `bottom_` and `buffer_`; `top_` only grows, by one compare-exchange an item.
  alignas(cache_line) std::atomic<std::int64_t> top_{0};
  alignas(cache_line) std::atomic<std::int64_t> bottom_{0};
  std::int64_t cached_top_ = 0;
  std::atomic<buffer*> buffer_{nullptr};
  // A thief may still read an old buffer, so all are kept; together they are twice the last one.
  std::vector<std::unique_ptr<buffer>> buffers_;
};

}  // namespace ray::detail::exec
