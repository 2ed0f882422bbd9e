/// What a generator and its reader share: how many items are unread, who waits for whom.
#pragma once

#include <ray/detail/runtime/coroutine.hpp>
#include <ray/detail/runtime/object.hpp>

#include <atomic>
#include <coroutine>
#include <cstddef>
#include <exception>
#include <mutex>

namespace ray::detail {

class parker;

/// The typed part keeps the items; this part counts them. Its functions are called with `mutex_`
/// held where they take the lock.
class stream_core {
 public:
  using lock_type = std::unique_lock<std::mutex>;

  stream_core() = default;
  stream_core(const stream_core&) = delete;
  stream_core& operator=(const stream_core&) = delete;
  ~stream_core();

  /// Connects the stream with the producer's task: its end is the stream's. Takes over the handle.
  void connect(object_handle producer);

  [[nodiscard]] lock_type lock() { return lock_type(mutex_); }

  // The producer's side.
  /// An item was added; true when the producer must wait before it makes another.
  [[nodiscard]] bool added(const lock_type&) noexcept;
  /// Suspends the producer until there is room, unless there is.
  void wait_for_room(suspension& waiting, std::coroutine_handle<> where);
  void room_awaited() noexcept;
  /// Items of this attempt that the reader has already, from an earlier one.
  [[nodiscard]] std::size_t made() const noexcept { return made_; }

  // The reader's side.
  /// Blocks until there is an item; false when the stream has ended. Rethrows the producer's error
  /// when all items are read.
  [[nodiscard]] bool wait_for_item(lock_type& lock);
  void taken(lock_type& lock) noexcept;
  /// The reader goes away: the producer is cancelled.
  void drop() noexcept;

  [[nodiscard]] const object_handle& producer() const noexcept { return producer_; }
  /// Before the producer is submitted.
  void set_capacity(std::size_t items) noexcept { capacity_ = items; }

 private:
  std::mutex mutex_;
  // Under `mutex_`.
  std::size_t unread_ = 0;
  std::size_t made_ = 0;
  std::size_t capacity_ = 16;
  bool ended_ = false;    // the producer's task has ended
  bool dropped_ = false;  // nobody reads any more
  parker* reader_ = nullptr;
  suspension* waiting_producer_ = nullptr;

  object_handle producer_;
  waiter end_;
  std::atomic<bool> end_seen_{false};
};

/// The stream_buffer of a task's options.
[[nodiscard]] std::size_t stream_buffer_of(object* producer) noexcept;

}  // namespace ray::detail
