/// Cancellation: of a task, of what it has started, of waits that block inside it.
#include "runtime/actor_core.hpp"
#include "runtime/ancestry.hpp"
#include "runtime/core.hpp"
#include "runtime/interrupts.hpp"
#include "runtime/messages.hpp"
#include "runtime/stripes.hpp"
#include "runtime/task_extra.hpp"

#include <ray/detail/runtime/completion.hpp>
#include <ray/error.hpp>

#include <utility>
#include <vector>

namespace ray::detail {

// Ancestry ---------------------------------------------------------------------------------------

namespace {

/// The parent with a reference, read under the lock that guards the link.
task* hold_parent(task* one) noexcept {
  const std::lock_guard lock(stripe_of(one));
  task* parent = task_access::parent(one);
  if (parent != nullptr) parent->add_reference();
  return parent;
}

/// Visits the ancestors from the nearest on until `visit` returns true; whether it did.
template <typename Visit>
bool any_ancestor(task* one, Visit visit) noexcept {
  for (task* at = hold_parent(one); at != nullptr;) {
    const bool found = visit(at);
    task* next = found ? nullptr : hold_parent(at);
    at->drop_references(1);
    if (found) return true;
    at = next;
  }
  return false;
}

}  // namespace

task* living_ancestor(task* one) noexcept {
  one->add_reference();
  while (one != nullptr && one->is_ready() && (one->word() & object::cancels_children) == 0) {
    task* next = hold_parent(one);
    one->drop_references(1);
    one = next;
  }
  return one;
}

void replace_parent(task* one, task* parent) noexcept {
  task* old = nullptr;
  {
    const std::lock_guard lock(stripe_of(one));
    old = std::exchange(task_access::parent(one), parent);
  }
  if (old != nullptr) old->drop_references(1);
}

bool descends_from(task* one, const task* ancestor) noexcept {
  return any_ancestor(one, [&](task* at) { return at == ancestor; });
}

bool end_if_cancelled(task* one) noexcept {
  if ((one->word() & object::cancelled) != 0) return true;
  if (core::get().interruptions.attention.load(std::memory_order_relaxed) == 0) return false;
  if (!any_ancestor(one, [](task* at) { return (at->word() & object::cancels_children) != 0; })) {
    return false;
  }
  one->fail(std::make_exception_ptr(cancelled_error(parent_cancelled_message(one))),
            object::cancelled | object::observed);
  return true;
}

// Cancelling -------------------------------------------------------------------------------------

bool fail_unbegun(task* one, std::exception_ptr error) noexcept {
  one->fail(std::move(error));
  if (!one->claim()) return false;
  // Nobody will run it: what it had for its children goes back. Its arguments stay until the queue
  // lets go of it, since it may still be linked to one of them.
  one->drop_references(std::exchange(task_access::credits(one), 0));
  return true;
}

void end_early(task* one, std::exception_ptr error, bool recursive) noexcept {
  auto& interruptions = core::get().interruptions;
  // Counted before the flag can be seen, and until the task's block is gone.
  if (recursive) interruptions.attention.fetch_add(1, std::memory_order_relaxed);
  const std::uint64_t flags = object::cancelled | object::observed |
                              (recursive ? object::cancels_children : std::uint64_t{0});
  if (!one->fail(std::move(error), flags)) {
    if (recursive) interruptions.attention.fetch_sub(1, std::memory_order_relaxed);
    return;
  }
  // A call that has not begun keeps its place in its actor's queue, and passes when its turn comes.
  const task_extra* extra = one->extra();
  const bool is_call = extra != nullptr && extra->actor != nullptr && !extra->creates_actor;
  if (is_call) actor_core::no_longer_pending(one);
  if (!is_call && one->claim()) {
    one->drop_references(std::exchange(task_access::credits(one), 0));
    return;
  }
  interruptions.reach(one);
  if (recursive) {
    interruptions.reach_descendants(one);
    core::get().scheduler.sweep_cancelled();
  }
}

void cancel_object(object* target, bool, bool recursive) {
  require_session();
  if (target->operations().run == nullptr || target->is_ready()) return;
  auto* one = static_cast<task*>(target);
  end_early(one, std::make_exception_ptr(cancelled_error(cancelled_message(one))), recursive);
}

// Interrupts -------------------------------------------------------------------------------------

void interrupts::add(registration& one) noexcept {
  const std::lock_guard lock(mutex_);
  one.previous = nullptr;
  one.next = first_;
  if (first_ != nullptr) first_->previous = &one;
  first_ = &one;
}

void interrupts::remove(registration& one) noexcept {
  const std::lock_guard lock(mutex_);
  if (one.next != nullptr) one.next->previous = one.previous;
  (one.previous != nullptr ? one.previous->next : first_) = one.next;
}

template <typename Predicate>
void interrupts::reach_if(Predicate wanted) noexcept {
  // Callbacks of a stop token are the user's code, and resuming pushes a job: without the lock.
  std::vector<std::stop_source> sources;
  std::vector<std::pair<void (*)(void*) noexcept, void*>> resumed;
  {
    const std::lock_guard lock(mutex_);
    for (registration* one = first_; one != nullptr; one = one->next) {
      if (!wanted(one->owner)) continue;
      if (one->source != nullptr) sources.push_back(*one->source);
      if (one->sleeper != nullptr) one->sleeper->unpark();
      if (one->win != nullptr && one->win(one->context)) {
        resumed.emplace_back(one->resume, one->context);
      }
    }
  }
  for (auto& source : sources) source.request_stop();
  for (const auto& [resume, context] : resumed) resume(context);
}

void interrupts::reach(task* target) noexcept {
  reach_if([&](task* owner) { return owner == target; });
}

void interrupts::reach_descendants(task* ancestor) noexcept {
  // Ending a task wakes others, who may come here: so the lock is held only to collect.
  std::vector<task*> owners;
  {
    const std::lock_guard lock(mutex_);
    for (registration* one = first_; one != nullptr; one = one->next) {
      if (one->owner == nullptr) continue;
      one->owner->add_reference();
      owners.push_back(one->owner);
    }
  }
  for (task* owner : owners) {
    if (descends_from(owner, ancestor)) {
      owner->fail(std::make_exception_ptr(cancelled_error(parent_cancelled_message(owner))),
                  object::cancelled | object::observed);
      reach(owner);
    }
    owner->drop_references(1);
  }
}

void interrupts::reach_all() noexcept {
  reach_if([](task*) { return true; });
}

}  // namespace ray::detail
