#include <ray/detail/runtime/coroutine.hpp>

#include "runtime/actor_core.hpp"
#include "runtime/blocking.hpp"
#include "runtime/core.hpp"
#include "runtime/run.hpp"
#include "runtime/task_extra.hpp"

#include <ray/error.hpp>

#include <new>

namespace ray::detail {
namespace {

// What the thread that runs a coroutine is to do when it suspends.
struct running_coroutine {
  coroutine_context* context;
  std::coroutine_handle<> next;
  coroutine_context* ended;
};
constinit thread_local running_coroutine running{};

}  // namespace

coroutine_context::coroutine_context(task* owner) noexcept
    : exec::job([](exec::job* item) noexcept {
        auto* self = static_cast<coroutine_context*>(item);
        self->resumed();
        run(self, self->where_);
      }),
      owner_(owner) {}

void coroutine_context::run(coroutine_context* context, std::coroutine_handle<> where) noexcept {
  task* const outer = std::exchange(current_task, context->owner_);
  const running_coroutine before = std::exchange(running, {context, where, nullptr});
  // The coroutine may be resumed by another thread as soon as it has suspended, so from then on
  // only this thread's own slot is looked at.
  while (running.next) std::exchange(running.next, nullptr).resume();
  coroutine_context* ended = running.ended;
  running = before;
  current_task = outer;
  if (ended != nullptr) ended->finish();
}

void coroutine_context::schedule(std::coroutine_handle<> where) noexcept {
  where_ = where;
  const task_extra* extra = owner_->extra();
  const bool plain =
      extra == nullptr ||
      (extra->actor == nullptr &&
       (extra->settings == nullptr || extra->settings->resources == call_settings::need::plain));
  if (plain) {
    core::get().pool.push(this);
  } else {
    core::get().pool.push_free(this, extra->holds_slot);
  }
}

void coroutine_context::suspended() noexcept {
  const task_extra* extra = owner_->extra();
  if (extra == nullptr) return;
  if (extra->holds_slot) {
    core::get().scheduler.task_blocked(owner_);
  } else if (extra->actor != nullptr && extra->actor->holds_cpu()) {
    core::get().scheduler.actor_blocked(extra->actor->cls());
  }
}

void coroutine_context::resumed() noexcept {
  const task_extra* extra = owner_->extra();
  if (extra == nullptr) return;
  if (extra->holds_slot) {
    core::get().scheduler.task_resumed(owner_);
  } else if (extra->actor != nullptr && extra->actor->holds_cpu()) {
    core::get().scheduler.actor_resumed(extra->actor->cls());
  }
}

void resume_next(std::coroutine_handle<> where) noexcept { running.next = where; }

coroutine_context& this_context() {
  if (running.context == nullptr) {
    throw usage_error(
        "ray: a future or a ray::task was awaited outside of a task: co_await works in coroutines "
        "that ray runs; elsewhere use ray::get");
  }
  return *running.context;
}

void context_ended(coroutine_context* context) noexcept { running.ended = context; }

// Suspension -------------------------------------------------------------------------------------

struct suspension::state {
  interrupts::registration registration;
  waiter link;
  coroutine_context* context = nullptr;
  std::coroutine_handle<> where;
  object* target = nullptr;
  std::optional<actor_core::own_call_guard> guard;
  // Set by the first who wakes the coroutine, who alone resumes it.
  std::atomic<bool> woken{false};
  // Two have to be done before the coroutine may be resumed: the suspending thread with its set-up,
  // and whoever wakes it. The second of them schedules it.
  std::atomic<int> left{2};

  void step() noexcept {
    if (left.fetch_sub(1, std::memory_order_acq_rel) == 1) context->schedule(where);
  }
};

suspension::suspension() noexcept : state_(nullptr) {
  static_assert(sizeof(state) <= state_size && alignof(state) <= 16);
  state_ = new (room_) state;
}

suspension::~suspension() {
  if (state_->context != nullptr) core::get().interruptions.remove(state_->registration);
  state_->~state();
}

void suspension::wait(std::coroutine_handle<> where) { wait_in(this_context(), where); }

void suspension::wait_in(coroutine_context& context, std::coroutine_handle<> where) {
  state& own = *state_;
  own.context = &context;
  own.where = where;
  own.context->suspended();
  own.registration.owner = own.context->owner();
  own.registration.context = &own;
  own.registration.win = [](void* self) noexcept {
    auto* one = static_cast<state*>(self);
    if (one->target != nullptr && !one->target->remove_waiter(one->link)) return false;  // notified
    return !one->woken.exchange(true, std::memory_order_acq_rel);
  };
  own.registration.resume = [](void* self) noexcept { static_cast<state*>(self)->step(); };
  core::get().interruptions.add(own.registration);
  task* owner = own.context->owner();
  const bool interrupted = core::get().stopping() || (owner->word() & object::cancelled) != 0;
  if (interrupted && own.registration.win(&own)) own.step();
  own.step();
}

void suspension::wait_for(object* target, std::coroutine_handle<> where) {
  coroutine_context& context = this_context();  // first: it throws in a coroutine that is not ours
  state& own = *state_;
  own.guard.emplace(target);
  own.link.context = &own;
  own.link.notify = [](waiter* from, object*) noexcept {
    auto* one = static_cast<state*>(from->context);
    if (!one->woken.exchange(true, std::memory_order_acq_rel)) one->step();
  };
  if (!target->add_waiter(own.link)) {
    own.guard.reset();
    return resume_next(where);
  }
  own.target = target;
  wait_in(context, where);
}

void suspension::wake() noexcept {
  if (!state_->woken.exchange(true, std::memory_order_acq_rel)) state_->step();
}

void forward_when_ready(task* one, object_handle target) noexcept {
  struct link : waiter {
    task* owner;
    object_handle target;
  };
  auto* node = new link;
  node->owner = one;
  node->target = std::move(target);
  node->context = node;
  node->notify = [](waiter* from, object*) noexcept {
    auto* self = static_cast<link*>(from->context);
    task* owner = self->owner;
    owner->forward(self->target.release());
    delete self;
    complete(owner, outcome::forwarded, 1);
  };
  object* awaited = node->target.get();
  if (!awaited->add_waiter(*node)) node->notify(node, awaited);
}

void finish_coroutine(task* one, std::exception_ptr error) noexcept {
  const outcome how = error == nullptr ? outcome::value : outcome::failed;
  finish_suspended(one, how, std::move(error));
}

}  // namespace ray::detail
