/// A task's way through the process: submitted, run, ended. The plain task (one CPU, no options)
/// passes through here without a lock; what only others need is behind `extra_`.
#include <ray/detail/runtime/task.hpp>

#include "runtime/actor_core.hpp"
#include "runtime/ancestry.hpp"
#include "runtime/attempt.hpp"
#include "runtime/core.hpp"
#include "runtime/messages.hpp"
#include "runtime/object_hooks.hpp"
#include "runtime/run.hpp"
#include "runtime/stripes.hpp"
#include "runtime/task_extra.hpp"

#include <ray/detail/base/error_value.hpp>
#include <ray/error.hpp>

#include <cstddef>
#include <mutex>
#include <new>

namespace ray::detail {

constinit thread_local task* current_task = nullptr;

void execute_task(exec::job* item) noexcept {
  auto* one = static_cast<task*>(item);
  task_extra* extra = one->extra();
  if (extra != nullptr && extra->actor != nullptr) return actor_core::execute_call(one);
  if (!one->claim()) return one->drop_references(1);  // run inline or cancelled meanwhile
  run_claimed(one, 1);
}

namespace {

/// What a task's function has thrown, on its way from `keep_thrown` to who called `run`. Trivial
/// memory, so that it costs a thread nothing.
struct thrown_slot {
  bool full;
  alignas(std::exception_ptr) std::byte memory[sizeof(std::exception_ptr)];
};
constinit thread_local thrown_slot thrown{};

[[nodiscard]] std::exception_ptr take_thrown() noexcept {
  if (!std::exchange(thrown.full, false)) return nullptr;
  auto* error = std::launder(reinterpret_cast<std::exception_ptr*>(thrown.memory));
  std::exception_ptr taken = std::move(*error);
  std::destroy_at(error);
  return taken;
}

/// A parent that has ended is passed over, so that a chain of tasks that start each other and end
/// does not keep all of its members.
void skip_ended_parents(task* one) noexcept {
  task* parent = task_access::parent(one);
  if (parent == nullptr || parent == current_task || !parent->is_ready()) return;
  replace_parent(one, living_ancestor(parent));
}

/// Lets go of the arguments.
void end_arguments(task* one) noexcept {
  if (one->operations().destroy_arguments != nullptr &&
      !std::exchange(task_access::arguments_gone(one), true)) {
    one->operations().destroy_arguments(one);
  }
}

void fail_with(task* one, std::exception_ptr error) noexcept {
  if (one->extra() != nullptr && one->extra()->creates_actor) {
    one->fail(one->extra()->actor->constructor_failed(error));
    return;
  }
  one->fail(portable_exception(std::move(error), describe(one)));
}

}  // namespace

void complete(task* one, outcome how, std::uint64_t references) noexcept {
  if (thrown.full) [[unlikely]]
    fail_with(one, take_thrown());
  end_arguments(one);
  if (one->extra() != nullptr) [[unlikely]]
    end_of_attempt(one);
  if (core::get().interruptions.attention.load(std::memory_order_relaxed) != 0) [[unlikely]] {
    end_if_cancelled(one);
  }
  skip_ended_parents(one);
  references += std::exchange(task_access::credits(one), 0);
  if (how == outcome::value) {
    one->publish(references);
  } else {
    one->drop_references(references);
  }
}

bool run_special(task* one, std::uint64_t references) noexcept {
  if (references == 0 && one->operations().may_suspend) {
    one->add_reference();  // a suspended task may outlive its handles
    references = 1;
  }
  task* const outer = std::exchange(current_task, one);
  outcome how = outcome::failed;
  std::exception_ptr error;
  do {
    error = nullptr;
    if (!begin_attempt(one)) break;
    how = one->operations().run(one);
    error = take_thrown();
  } while (error != nullptr && (one->word() & object::to_repeat) == 0 && try_again(one, error));
  current_task = outer;
  // A suspended task may already run, or have ended, on another thread; so may a forwarded one.
  if (how == outcome::suspended) return false;
  if (how == outcome::forwarded) return true;
  if ((one->word() & object::to_repeat) != 0 && !one->is_ready()) {
    if (undo_attempt(one, how)) {
      actor_core::take_back(one, references);
      return false;
    }
    how = outcome::failed;
    error = nullptr;
  }
  if (error != nullptr) fail_with(one, std::move(error));
  complete(one, how, references);
  return true;
}

void submit(task* one) noexcept {
  if (task* parent = current_task) {
    task_access::parent(one) = parent;
    std::uint32_t& credits = task_access::credits(parent);
    if (credits == 0) [[unlikely]] {
      task_access::word(parent).fetch_add(object::one_reference * task::child_credits,
                                          std::memory_order_relaxed);
      credits = task::child_credits;
    }
    --credits;
  }
  auto& unready = task_access::unready(one);
  // Without dependencies nobody else knows the task yet, and plain stores do.
  if (unready.load(std::memory_order_relaxed) == 1 && one->extra() == nullptr &&
      core::running_one().has_tokens) {
    unready.store(0, std::memory_order_relaxed);
    task_access::word(one).store(task::initial_word | object::runnable, std::memory_order_relaxed);
    core::running_one().pool.push(one);
    return;
  }
  if (one->extra() != nullptr && one->extra()->actor != nullptr) {
    return actor_core::accept(one);
  }
  if (unready.fetch_sub(1, std::memory_order_acq_rel) == 1) make_runnable(one);
}

unsubmitted::~unsubmitted() {
  // What the queue and the children would have held; the handle is the caller's. Nobody will look
  // at the error, so it says nothing.
  if (task_ == nullptr) return;
  task_access::word(task_).fetch_or(object::ready | object::failed | object::observed,
                                    std::memory_order_relaxed);
  task_->drop_references(1 + std::exchange(task_access::credits(task_), 0));
}

void add_dependency(task* one, waiter& link, object* target) noexcept {
  link.context = one;
  link.notify = [](waiter* from, object*) noexcept {
    auto* waiting = static_cast<task*>(from->context);
    // Acquire and release: who makes the task runnable sees all its arguments ready.
    if (task_access::unready(waiting).fetch_sub(1, std::memory_order_acq_rel) == 1) {
      make_runnable(waiting);
    }
  };
  task_access::unready(one).fetch_add(1, std::memory_order_relaxed);
  if (!target->add_waiter(link)) {
    task_access::unready(one).fetch_sub(1, std::memory_order_acq_rel);
  }
}

void make_runnable(task* one) noexcept {
  core& runtime = core::get();
  task_extra* extra = one->extra();
  if (extra != nullptr) {
    if (extra->actor != nullptr) return actor_core::arguments_ready(one);
    if (extra->settings != nullptr) {
      switch (extra->settings->resources) {
        case call_settings::need::plain:
          break;
        case call_settings::need::free:
          task_access::word(one).fetch_or(object::runnable, std::memory_order_release);
          return runtime.pool.push_free(one);
        case call_settings::need::classed:
          return runtime.scheduler.enqueue(one);
      }
    }
  }
  task_access::word(one).fetch_or(object::runnable, std::memory_order_release);
  if (!runtime.has_tokens && one->operations().of_the_library) return runtime.pool.push_free(one);
  runtime.pool.push(one);
}

void finish_suspended(task* one, outcome how, std::exception_ptr error) noexcept {
  const task_extra* extra = one->extra();
  actor_core* actor = extra != nullptr ? extra->actor : nullptr;
  const std::uint32_t group = extra != nullptr ? extra->group : 0;
  if (actor != nullptr) actor_core::retain(actor);
  bool ended = true;
  if (error != nullptr && try_again(one, error)) {
    ended = run_claimed(one, 1);
  } else {
    if (error != nullptr) fail_with(one, std::move(error));
    complete(one, how, 1);
  }
  if (actor == nullptr) return;
  if (ended) actor_core::call_ended(actor, group, one);
  actor_core::release(actor);
}

/// Runs the function of a task that has ended once more: an actor's constructor, for its next
/// incarnation.
std::exception_ptr run_again(task* one) noexcept {
  task* const outer = std::exchange(current_task, one);
  one->operations().run(one);
  current_task = outer;
  std::exception_ptr error = take_thrown();
  end_arguments(one);
  one->drop_references(std::exchange(task_access::credits(one), 0));
  return error;
}

void keep_thrown(std::exception_ptr error) noexcept {
  new (thrown.memory) std::exception_ptr(std::move(error));
  thrown.full = true;
}

namespace {

/// Takes apart a task that nothing refers to: what is left of its arguments, its options, its hold
/// on its parent.
void dismantle(task* one) noexcept {
  end_arguments(one);
  if (one->extra() != nullptr) destroy_extra(one);
  if ((one->word() & object::cancels_children) != 0) {
    core::get().interruptions.attention.fetch_sub(1, std::memory_order_relaxed);
  }
  task* parent = task_access::parent(one);
  if (parent == nullptr) return;
  if (parent == current_task) {
    ++task_access::credits(
        parent);  // the usual case: a child dies before its parent's function ends
  } else {
    parent->drop_references(1);
  }
}

}  // namespace

void object::free() noexcept {
  if (operations_->run != nullptr) dismantle(static_cast<task*>(this));
  operations_->destroy_block(this);
}

}  // namespace ray::detail
