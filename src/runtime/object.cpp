/// The life of an object: counts, waiters, and how it ends. The state machine is the word; the list
/// of waiters is guarded by one of a table of locks, chosen by the object's address.
#include <ray/detail/runtime/object.hpp>

#include "runtime/object_hooks.hpp"
#include "runtime/stripes.hpp"

#include <ray/detail/runtime/task.hpp>

#include <ray/error.hpp>
#include <ray/id.hpp>

#include <mutex>
#include <utility>

namespace ray::detail {

// Ending -----------------------------------------------------------------------------------------

void object::publish_slowly(std::uint64_t word, std::uint64_t references_to_drop) noexcept {
  while (true) {
    if ((word & ending) != 0) {  // a canceller was first: nobody will read the value
      discard_value();
      break;
    }
    if (word_.compare_exchange_weak(word, word | ready, std::memory_order_acq_rel,
                                    std::memory_order_relaxed)) {
      if ((word & handles_mask) == 0) {
        release_value();  // nobody is left to read it
      } else if ((word & has_waiters) != 0) {
        notify_waiters();
      }
      break;
    }
  }
  drop_references(references_to_drop);
}

bool object::fail(std::exception_ptr error, std::uint64_t flags) noexcept {
  std::uint64_t word = word_.load(std::memory_order_relaxed);
  do {
    if ((word & (ending | ready)) != 0) return false;
  } while (!word_.compare_exchange_weak(word, word | ending, std::memory_order_acquire,
                                        std::memory_order_relaxed));
  error_ = std::move(error);
  word = word_.fetch_or(ready | failed | flags, std::memory_order_acq_rel);
  if ((word & has_waiters) != 0) notify_waiters();
  if ((word & handles_mask) == 0 && ((word | flags) & observed) == 0) report_unobserved(*this);
  return true;
}

void object::forward(object* target) noexcept {
  object* source = target->source();
  if ((source->word() & failed) != 0) {
    source->mark_observed();
    fail(source->error_);
    target->drop_handle();
    return;
  }
  if (source != target) {
    source->add_handle();
    target->drop_handle();
  }
  std::uint64_t word = word_.load(std::memory_order_relaxed);
  do {
    if ((word & (ending | ready)) != 0) {
      source->drop_handle();
      return;
    }
  } while (!word_.compare_exchange_weak(word, word | ending, std::memory_order_acquire,
                                        std::memory_order_relaxed));
  value_ = source;
  word = word_.fetch_or(ready | forwarded, std::memory_order_acq_rel);
  if ((word & has_waiters) != 0) notify_waiters();
  if ((word & handles_mask) == 0) release_value();
}

void object::mark_observed() noexcept {
  if ((word_.load(std::memory_order_relaxed) & observed) == 0) {
    word_.fetch_or(observed, std::memory_order_relaxed);
  }
}

// Waiters ----------------------------------------------------------------------------------------

bool object::add_waiter(waiter& one) noexcept {
  const std::lock_guard lock(stripe_of(this));
  // The flag before the look at `ready`: the thread that ends the object either sees the flag and
  // comes for the list, or is seen here.
  const std::uint64_t word = word_.fetch_or(has_waiters, std::memory_order_acq_rel);
  if ((word & ready) != 0) return false;
  one.from = this;
  one.previous = nullptr;
  one.next = waiters_;
  if (waiters_ != nullptr) waiters_->previous = &one;
  waiters_ = &one;
  one.linked.store(true, std::memory_order_relaxed);
  return true;
}

bool object::remove_waiter(waiter& one) noexcept {
  if (!one.linked.load(std::memory_order_acquire)) return false;
  const std::lock_guard lock(stripe_of(this));
  if (!one.linked.load(std::memory_order_relaxed)) return false;
  if (one.next != nullptr) one.next->previous = one.previous;
  (one.previous != nullptr ? one.previous->next : waiters_) = one.next;
  one.linked.store(false, std::memory_order_relaxed);
  return true;
}

namespace {

// Notifying can end another object, whose waiters are notified in turn: chains of forwarded futures
// may have any length. So a nested notification only joins this thread's queue; each waiter in it
// keeps a reference of its object.
struct notification_queue {
  waiter* first;
  waiter* last;
  bool running;
};
constinit thread_local notification_queue notifications{};

}  // namespace

void object::notify_waiters() noexcept {
  waiter* first = nullptr;
  {
    const std::lock_guard lock(stripe_of(this));
    // In the order in which they came, so that who waits longest is served first.
    while (waiters_ != nullptr) {
      waiter* one = waiters_;
      waiters_ = one->next;
      one->next = first;
      first = one;
    }
    for (waiter* one = first; one != nullptr; one = one->next) {
      one->previous = nullptr;
      // Release: a waiter that finds itself unlinked sees the value.
      one->linked.store(false, std::memory_order_release);
    }
  }
  if (first == nullptr) return;
  auto& queue = notifications;
  if (queue.running) {
    while (first != nullptr) {
      add_reference();
      (queue.first != nullptr ? queue.last->next : queue.first) = first;
      queue.last = std::exchange(first, first->next);
      queue.last->next = nullptr;
    }
    return;
  }
  queue.running = true;
  while (first != nullptr) {
    waiter* one = std::exchange(first, first->next);  // first: the call may free the waiter
    one->notify(one, this);
  }
  while (queue.first != nullptr) {
    waiter* one = std::exchange(queue.first, queue.first->next);
    object* from = one->from;
    one->notify(one, from);
    from->drop_references(1);
  }
  queue.running = false;
}

// Counts -----------------------------------------------------------------------------------------

void object::drop_handle_slowly(std::uint64_t word) noexcept {
  if (handles(word) == 1 && (word & ready) != 0) {
    // The last handle of an object that has ended: no other can come, and only references move.
    last_handle_gone();
    return;
  }
  const std::uint64_t before = word_.fetch_sub(one_handle, std::memory_order_acq_rel);
  if (handles(before) != 1) return;
  if ((before & ready) != 0) {
    last_handle_gone();
  } else {
    drop_references(1);
  }
}

namespace {

// A value may hold the last handle of another object, whose value holds one in turn: lists of any
// length die in a loop, not by recursion. A nested object only joins this thread's list.
struct dying_list {
  object* first;
  bool running;
};
constinit thread_local dying_list dying{};

}  // namespace

void object::last_handle_gone() noexcept {
  constexpr std::uint64_t special = failed | forwarded | tracked;
  if (operations_->destroy_value == nullptr && (word() & special) == 0) {
    drop_references(1);
    return;
  }
  auto& list = dying;
  next_dying_ = std::exchange(list.first, this);
  if (list.running) return;
  list.running = true;
  while (list.first != nullptr) {
    object* one = std::exchange(list.first, list.first->next_dying_);
    one->release_value();
    one->drop_references(1);
  }
  list.running = false;
}

/// Nobody can read the object any more: lets go of its value.
void object::release_value() noexcept {
  const std::uint64_t word = this->word();
  if ((word & failed) != 0) {
    if ((word & observed) == 0) report_unobserved(*this);
  } else if ((word & forwarded) != 0) {
    static_cast<object*>(value_)->drop_handle();
  } else {
    discard_value();
  }
}

void object::discard_value() noexcept {
  if (stored_ != nullptr) {
    erase_stored(*this);
  } else if (operations_->destroy_value != nullptr) {
    operations_->destroy_value(this);
  }
}

void object::retract_value() noexcept {
  discard_value();
  stored_ = nullptr;
  word_.fetch_and(~tracked, std::memory_order_relaxed);
}

void object::drop_references(std::uint64_t count) noexcept {
  // Holding all references that there are, no atomic operation is needed to drop them.
  if (references(word_.load(std::memory_order_acquire)) != count) {
    const std::uint64_t before = word_.fetch_sub(count * one_reference, std::memory_order_acq_rel);
    if (references(before) != count) return;
  }
  free();
}

std::uint64_t object::id() noexcept {
  std::uint64_t known = id_.load(std::memory_order_relaxed);
  if (known != 0) return known;
  const std::uint64_t fresh = next_id();
  if (id_.compare_exchange_strong(known, fresh, std::memory_order_relaxed)) return fresh;
  return known;
}

}  // namespace ray::detail
