/// Waiting for objects: running what is waited for on the spot where that is possible, else
/// sleeping with the slot lent to others.
#include "base/relax_processor.hpp"
#include "base/spinning.hpp"
#include "runtime/actor_core.hpp"
#include "runtime/blocking.hpp"
#include "runtime/core.hpp"
#include "runtime/messages.hpp"
#include "runtime/run.hpp"
#include "runtime/task_extra.hpp"

#include <ray/detail/runtime/completion.hpp>
#include <ray/detail/runtime/value_access.hpp>
#include <ray/error.hpp>
#include <ray/log.hpp>

#include <array>
#include <atomic>
#include <optional>

namespace ray::detail {

// Helping ----------------------------------------------------------------------------------------

namespace {

constexpr std::uint64_t begun_mask = object::runnable | object::claimed | object::ready;

/// Tasks that were run without being taken out of this thread's deque go, as far as they are the
/// newest there.
[[gnu::noinline]] void drop_stale_jobs(exec::worker& self) noexcept {
  while (self.stale_jobs != 0) {
    exec::job* item = self.pop();
    auto* one =
        item != nullptr && item->execute == execute_task ? static_cast<task*>(item) : nullptr;
    if (one == nullptr || (one->word() & object::claimed) == 0) {
      if (item != nullptr) self.put_back(item);
      self.stale_jobs = 0;
      return;
    }
    --self.stale_jobs;
    one->drop_references(1);
  }
}

/// Runs a claimed task on a thread that has a token.
void run_on(exec::worker& self, task* one) noexcept {
  if (self.is_newest(one) && self.pop() != nullptr) {
    run_claimed(one, 1);
    if (self.stale_jobs != 0) drop_stale_jobs(self);
  } else {
    // It stays in a deque until it comes to be the newest, or is stolen.
    ++self.stale_jobs;
    run_claimed(one, 0);
  }
}

/// The usual join: nobody has begun the target, and it needs no more than the token that this
/// thread has. True when it was run.
bool run_at_once(object* target) noexcept {
  exec::thread_record& thread = exec::this_thread();
  exec::worker* self = thread.running;
  if (self == nullptr || !self->holds_token()) return false;
  if ((target->word() & begun_mask) != object::runnable) return false;
  auto* one = static_cast<task*>(target);
  if (one->extra() != nullptr || !thread.has_stack_room()) return false;
  if (current_task != nullptr && (current_task->word() & object::cancelled) != 0) return false;
  if (!one->claim()) return false;
  run_on(*self, one);
  return true;
}

/// Runs a task that nobody has begun on this thread, if it may run here. True when it did.
bool run_inline_here(task* one) noexcept {
  task_extra* extra = one->extra();
  if (extra == nullptr ||
      (extra->actor == nullptr &&
       (extra->settings == nullptr || extra->settings->resources == call_settings::need::plain))) {
    const exec::token_region token(core::get().pool);
    if (!token || !one->claim()) return false;
    run_on(*exec::pool::this_worker(), one);
    return true;
  }
  // A call of an actor, or a task that needs no CPU or has its slot: it takes none of this
  // thread's.
  const exec::free_region region(exec::pool::this_worker());
  if (extra->actor != nullptr) return actor_core::run_call_inline(one);
  if (!one->claim()) return false;
  run_claimed(one, 0);
  return true;
}

bool run_inline(task* one) noexcept {
  if ((one->word() & begun_mask) != object::runnable) return false;
  const exec::thread_record& thread = exec::this_thread();
  if (!thread.has_stack_room()) return false;
  if (thread.running != nullptr) return run_inline_here(one);
  const core::helping counted(core::get());
  return counted && run_inline_here(one);
}

/// What stands between `target` and its beginning: a task that nobody has begun and whose arguments
/// are there, among what `target` depends on. With a handle; empty when there is none to be found.
object_handle find_runnable(object* target) {
  constexpr int most_steps = 64;  // longer chains are left to the pool
  object_handle at = object_handle::share(target);
  for (int step = 0; step < most_steps; ++step) {
    const std::uint64_t word = at->word();
    if ((word & (object::ready | object::claimed)) != 0 || at->operations().run == nullptr)
      return {};
    if ((word & object::runnable) != 0) return at;
    auto* one = static_cast<task*>(at.get());
    // One more unready argument keeps the task from beginning while its arguments are looked at.
    auto& unready = task_access::unready(one);
    std::int32_t count = unready.load(std::memory_order_relaxed);
    while (count > 0 && !unready.compare_exchange_weak(count, count + 1, std::memory_order_acquire,
                                                       std::memory_order_relaxed)) {
    }
    if (count <= 0) return {};
    object* argument = one->operations().pending_argument(one);
    object_handle next = argument != nullptr ? object_handle::share(argument) : object_handle();
    if (unready.fetch_sub(1, std::memory_order_acq_rel) == 1) make_runnable(one);
    if (next) at = std::move(next);
  }
  return {};
}

/// Runs on this thread what `target` waits for, as long as there is something. True when ready.
bool help(object* target) {
  while (!target->is_ready()) {
    if (target->operations().run == nullptr) return false;
    if (run_inline(static_cast<task*>(target))) continue;
    const object_handle next = find_runnable(target);
    if (!next || !run_inline(static_cast<task*>(next.get()))) return target->is_ready();
  }
  return true;
}

/// Looks for a moment whether the object becomes ready by itself: what runs on another core is
/// often done before a thread could be put to sleep.
bool spin_for(object* target) noexcept {
  if (!spinning_helps()) return false;
  for (int round = 0; round < 64; ++round) {
    if (target->is_ready()) return true;
    for (int pause = 0; pause < 8; ++pause) relax_processor();
  }
  return false;
}

/// A link in an object's list for a thread that sleeps. It leaves the list, or waits for the
/// notification that is under way, before it dies.
class sleeping_waiter {
 public:
  sleeping_waiter() = default;
  ~sleeping_waiter() {
    if (target_ == nullptr || target_->remove_waiter(link_)) return;
    while (!notified_.load(std::memory_order_acquire)) relax_processor();
  }
  sleeping_waiter(const sleeping_waiter&) = delete;
  sleeping_waiter& operator=(const sleeping_waiter&) = delete;

  /// `ended` counts how many have ended; may be null.
  void link(object* target, parker& sleeper, std::atomic<std::size_t>* ended) {
    sleeper_ = &sleeper;
    ended_ = ended;
    link_.context = this;
    link_.notify = [](waiter* from, object*) noexcept {
      auto* self = static_cast<sleeping_waiter*>(from->context);
      parker* const wake = self->sleeper_;
      if (self->ended_ != nullptr) self->ended_->fetch_add(1, std::memory_order_release);
      self->notified_.store(true, std::memory_order_release);  // from here on `self` may be gone
      wake->unpark();
    };
    if (target->add_waiter(link_)) {
      target_ = target;
    } else if (ended != nullptr) {
      ended->fetch_add(1, std::memory_order_relaxed);
    }
  }

 private:
  waiter link_;
  object* target_ = nullptr;
  parker* sleeper_ = nullptr;
  std::atomic<std::size_t>* ended_ = nullptr;
  std::atomic<bool> notified_{false};
};

}  // namespace

namespace {

[[gnu::noinline]] bool wait_slowly(object* target, duration timeout) {
  if (target->is_ready()) return true;
  if (current_task != nullptr) throw_if_interrupted();
  require_may_block();
  if (timeout == forever) {
    if (help(target)) return true;
  } else if (timeout <= duration::zero()) {
    return target->is_ready();
  }
  if (spin_for(target)) return true;
  const actor_core::own_call_guard guard(target);
  const deadline_type deadline = deadline_after(timeout);
  blocking region;
  sleeping_waiter link;
  link.link(target, region.sleeper(), nullptr);
  return region.sleep_until([&] { return target->is_ready(); }, deadline,
                            [&] { return describe(target); });
}

}  // namespace

bool wait_until_ready(object* target, duration timeout) {
  require_session();
  if (target->is_ready()) return true;
  if (timeout == forever && run_at_once(target) && target->is_ready()) return true;
  return wait_slowly(target, timeout);
}

void wait_for_all(const std::vector<object*>& objects, duration timeout) {
  if (timeout == forever) {
    for (object* one : objects) wait_until_ready(one);
    return;
  }
  const deadline_type deadline = deadline_after(timeout);
  for (object* one : objects) {
    const duration left =
        deadline ? std::max(duration::zero(), std::chrono::duration_cast<duration>(
                                                  *deadline - std::chrono::steady_clock::now()))
                 : forever;
    if (!wait_until_ready(one, left)) throw_get_timeout(one, timeout);
  }
}

namespace {

/// When so few of the objects are no calls of the actor that waits that `count` cannot end without
/// one of those: one that was not begun. Else null.
object* needed_own_call(const std::vector<object*>& objects, std::size_t count) {
  if (current_task == nullptr || current_task->extra() == nullptr) return nullptr;
  object* own = nullptr;
  std::size_t others = 0;
  for (object* one : objects) {
    if (actor_core::is_own_unbegun_call(one)) {
      own = one;
    } else {
      ++others;
    }
  }
  return others < count ? own : nullptr;
}

}  // namespace

void wait_for_some(const std::vector<object*>& objects, std::size_t count, duration timeout) {
  require_session();
  if (objects.empty()) return;
  if (count > objects.size()) throw_too_many_returns(count, objects.size());
  std::size_t ready = 0;
  for (object* one : objects) ready += one->is_ready() ? 1 : 0;
  if (ready >= count || timeout <= duration::zero()) return;
  require_may_block();
  if (current_task != nullptr) throw_if_interrupted();
  std::optional<actor_core::own_call_guard> own_call;
  if (object* one = needed_own_call(objects, count)) own_call.emplace(one);
  const deadline_type deadline = deadline_after(timeout);
  blocking region;
  std::atomic<std::size_t> ended{0};
  std::vector<sleeping_waiter> links(objects.size());
  for (std::size_t i = 0; i < objects.size(); ++i) {
    links[i].link(objects[i], region.sleeper(), &ended);
  }
  region.sleep_until(
      [&] { return ended.load(std::memory_order_acquire) >= count; }, deadline,
      [&] { return std::to_string(count) + " of " + std::to_string(objects.size()) + " futures"; });
}

// Completion in order ----------------------------------------------------------------------------

/// Waiters push the index of their object on a stack; the reader turns it round. The state is
/// shared with the waiters that are still linked, since a notification may be under way.
struct completion_queue::state {
  struct link {
    waiter node;
    state* owner = nullptr;
    std::size_t index = 0;
    link* next = nullptr;
    std::atomic<bool> notified{false};
  };

  std::vector<object_handle> objects;
  std::vector<link> links;
  std::atomic<link*> ended{nullptr};      // newest first
  std::atomic<parker*> sleeper{nullptr};  // of the reader, while it sleeps
  link* in_order = nullptr;               // taken from `ended`, oldest first
  std::size_t left = 0;

  void push(link& one) noexcept {
    one.next = ended.load(std::memory_order_relaxed);
    while (!ended.compare_exchange_weak(one.next, &one, std::memory_order_seq_cst,
                                        std::memory_order_relaxed)) {
    }
    parker* const wake = sleeper.load(std::memory_order_seq_cst);
    one.notified.store(true, std::memory_order_release);  // from here on all may be gone
    if (wake != nullptr) wake->unpark();
  }

  ~state() {
    for (std::size_t i = 0; i < links.size(); ++i) {
      auto& one = links[i];
      if (one.notified.load(std::memory_order_acquire)) continue;
      if (objects[i]->remove_waiter(one.node)) continue;
      while (!one.notified.load(std::memory_order_acquire)) relax_processor();
    }
  }

  bool collect() noexcept {
    if (in_order != nullptr) return true;
    link* one = ended.exchange(nullptr, std::memory_order_seq_cst);
    while (one != nullptr) {
      link* older = one->next;
      one->next = in_order;
      in_order = one;
      one = older;
    }
    return in_order != nullptr;
  }
};

completion_queue::completion_queue(const std::vector<object*>& objects)
    : state_(std::make_unique<state>()) {
  require_session();
  state_->left = objects.size();
  state_->objects.reserve(objects.size());
  for (object* one : objects) state_->objects.push_back(object_handle::share(one));
  state_->links = std::vector<state::link>(objects.size());
  for (std::size_t i = 0; i < objects.size(); ++i) {
    auto& one = state_->links[i];
    one.owner = state_.get();
    one.index = i;
    one.node.context = &one;
    one.node.notify = [](waiter* from, object*) noexcept {
      auto* self = static_cast<state::link*>(from->context);
      self->owner->push(*self);
    };
    if (!objects[i]->add_waiter(one.node)) state_->push(one);
  }
}

completion_queue::completion_queue(completion_queue&&) noexcept = default;
completion_queue& completion_queue::operator=(completion_queue&&) noexcept = default;

completion_queue::~completion_queue() = default;

bool completion_queue::next(std::size_t& index) {
  if (state_->left == 0) return false;
  if (!state_->collect()) {
    require_session();
    require_may_block();
    std::vector<object*> waited_for;
    for (std::size_t i = 0; i < state_->links.size(); ++i) {
      if (!state_->links[i].notified.load(std::memory_order_acquire)) {
        waited_for.push_back(state_->objects[i].get());
      }
    }
    std::optional<actor_core::own_call_guard> own_call;
    if (object* one = needed_own_call(waited_for, 1)) own_call.emplace(one);
    blocking region;
    state_->sleeper.store(&region.sleeper(), std::memory_order_seq_cst);
    struct reset {
      std::atomic<parker*>& sleeper;
      ~reset() { sleeper.store(nullptr, std::memory_order_seq_cst); }
    } const guard{state_->sleeper};
    region.sleep_until([&] { return state_->collect(); }, std::nullopt,
                       [&] { return "the next of " + std::to_string(state_->left) + " futures"; });
  }
  state::link* one = std::exchange(state_->in_order, state_->in_order->next);
  --state_->left;
  index = one->index;
  return true;
}

}  // namespace ray::detail
