#include <ray/detail/runtime/stream_core.hpp>

#include "base/relax_processor.hpp"
#include "runtime/blocking.hpp"
#include "runtime/core.hpp"
#include "runtime/messages.hpp"
#include "runtime/task_extra.hpp"

#include <ray/detail/runtime/completion.hpp>
#include <ray/detail/runtime/value_access.hpp>

namespace ray::detail {

stream_core::~stream_core() {
  if (!producer_ || producer_->remove_waiter(end_)) return;
  while (!end_seen_.load(std::memory_order_acquire)) relax_processor();
}

void stream_core::connect(object_handle producer) {
  producer_ = std::move(producer);
  end_.context = this;
  end_.notify = [](waiter* from, object*) noexcept {
    auto* self = static_cast<stream_core*>(from->context);
    parker* reader = nullptr;
    {
      const std::lock_guard lock(self->mutex_);
      self->ended_ = true;
      reader = self->reader_;
    }
    self->end_seen_.store(true, std::memory_order_release);  // from here on `self` may be gone
    if (reader != nullptr) reader->unpark();
  };
  if (!producer_->add_waiter(end_)) end_.notify(&end_, producer_.get());
}

bool stream_core::added(const lock_type&) noexcept {
  ++unread_;
  ++made_;
  if (reader_ != nullptr) reader_->unpark();
  return unread_ >= capacity_ && !dropped_;
}

void stream_core::wait_for_room(suspension& waiting, std::coroutine_handle<> where) {
  bool room = false;
  {
    const std::lock_guard lock(mutex_);
    room = unread_ < capacity_ || dropped_;
    if (!room) waiting_producer_ = &waiting;
  }
  if (room) return resume_next(where);
  waiting.wait(where);
}

void stream_core::room_awaited() noexcept {
  const std::lock_guard lock(mutex_);
  waiting_producer_ = nullptr;
}

bool stream_core::wait_for_item(lock_type& lock) {
  if (unread_ == 0 && !ended_) {
    require_session();
    require_may_block();
    lock.unlock();
    {
      blocking region;
      region.sleep_until(
          [&] {
            const std::lock_guard guard(mutex_);
            const bool done = unread_ != 0 || ended_;
            reader_ = done ? nullptr : &region.sleeper();
            return done;
          },
          std::nullopt, [&] { return "the next item of " + describe(producer_.get()); });
    }
    lock.lock();
  }
  if (unread_ != 0) return true;
  // The producer's error, once; it has no value to read.
  if ((producer_->word() & object::failed) != 0) {
    lock.unlock();
    throw_error(producer_.get());
  }
  return false;
}

void stream_core::taken(lock_type& lock) noexcept {
  --unread_;
  if (waiting_producer_ == nullptr || unread_ >= capacity_) return;
  suspension* const producer = std::exchange(waiting_producer_, nullptr);
  producer->wake();  // under the lock: the coroutine takes it before it destroys the suspension
  lock.unlock();
}

void stream_core::drop() noexcept {
  suspension* producer = nullptr;
  {
    const std::lock_guard lock(mutex_);
    dropped_ = true;
    producer = std::exchange(waiting_producer_, nullptr);
    if (producer != nullptr) producer->wake();
  }
  if (producer_ && core::get().running() && !producer_->is_ready()) {
    cancel_object(producer_.get(), false, true);
  }
}

std::size_t stream_buffer_of(object* producer) noexcept {
  const task_extra* extra = static_cast<task*>(producer)->extra();
  return extra != nullptr && extra->settings != nullptr ? extra->settings->options.stream_buffer
                                                        : task_options().stream_buffer;
}

}  // namespace ray::detail
