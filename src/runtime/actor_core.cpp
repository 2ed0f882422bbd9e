#include "runtime/actor_core.hpp"

#include "runtime/ancestry.hpp"
#include "runtime/attempt.hpp"
#include "runtime/core.hpp"
#include "runtime/messages.hpp"
#include "runtime/object_hooks.hpp"
#include "runtime/placement_spec.hpp"
#include "runtime/run.hpp"
#include "runtime/task_extra.hpp"

#include <ray/error.hpp>
#include <ray/log.hpp>

#include <algorithm>
#include <utility>

namespace ray::detail {
namespace {

/// How many calls a thread runs in a row before others get their turn on it.
constexpr int calls_in_a_row = 64;

std::uint32_t group_of(task* call) { return call->extra()->group; }

void set_flags(task* call, std::uint64_t flags) noexcept {
  task_access::word(call).fetch_or(flags, std::memory_order_acq_rel);
}

/// As `claim`, but not of a call that was taken back and waits: an entry of its first start may
/// still be in a queue.
[[nodiscard]] bool claim_runnable(task* call) noexcept {
  auto& state = task_access::word(call);
  std::uint64_t word = state.load(std::memory_order_relaxed);
  while ((word & (object::runnable | object::claimed)) == object::runnable) {
    if (state.compare_exchange_weak(word, word | object::claimed, std::memory_order_acq_rel,
                                    std::memory_order_relaxed)) {
      return true;
    }
  }
  return false;
}

/// Ends a call that was never begun and whose arguments are there: nobody else refers to it.
void discard_call(task* call, std::exception_ptr error) noexcept {
  call->fail(std::move(error));
  call->drop_references(1 + std::exchange(task_access::credits(call), 0));
}

/// A source of the bytes of a checkpoint.
class checkpoint_source final : public byte_source {
 public:
  explicit checkpoint_source(std::span<const std::byte> bytes) : left_(bytes) {}
  void read(std::span<std::byte> bytes) override {
    if (bytes.size() > left_.size()) throw serialization_error("a checkpoint ends too early");
    std::copy_n(left_.begin(), bytes.size(), bytes.begin());
    left_ = left_.subspan(bytes.size());
  }
  [[nodiscard]] std::size_t remaining() const override { return left_.size(); }

 private:
  std::span<const std::byte> left_;
};

}  // namespace

actor_core::actor_core(actor_options options, std::unique_ptr<actor_state> state)
    : id_{process_id_prefix(), next_id()}, options_(std::move(options)), state_(std::move(state)) {
  groups_.push_back({"", options_.max_concurrency, 0, 0, {}});
  for (const auto& [name, limit] : options_.concurrency_groups) {
    groups_.push_back({name, limit, 0, 0, {}});
  }
}

void actor_core::release(actor_core* one) noexcept {
  if (one->references_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  if (one->creation_copy_ != nullptr) {
    one->creation_->operations().destroy_arguments_copy(one->creation_copy_);
  }
  delete one;
}

bool actor_core::try_add_handle() noexcept {
  std::int64_t count = handles_.load(std::memory_order_relaxed);
  while (count > 0) {
    if (handles_.compare_exchange_weak(count, count + 1, std::memory_order_relaxed)) return true;
  }
  return false;
}

void actor_core::drop_handle() noexcept {
  if (handles_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  aftermath after;
  {
    const std::lock_guard lock(mutex_);
    settle(after);
  }
  deliver(after);
  forget_creation();
  release(this);
}

/// The constructor's task holds the actor, and the actor that task, for `ready` and for restarts:
/// when it is over and nobody can ask any more, it lets go.
void actor_core::forget_creation() noexcept {
  object_handle creation;
  bool detached = false;
  {
    const std::lock_guard lock(mutex_);
    if (phase_ == phase::ended && over_) detached = std::exchange(holds_itself_, false);
  }
  if (detached) return drop_handle();  // and comes back here when it was the last
  {
    const std::lock_guard lock(mutex_);
    if (handles_.load(std::memory_order_acquire) != 0 || phase_ != phase::ended || !over_) return;
    creation = std::move(creation_);
    if (creation && creation_copy_ != nullptr) {
      creation->operations().destroy_arguments_copy(std::exchange(creation_copy_, nullptr));
    }
  }
}

std::string actor_core::describe() const {
  return describe_actor(options_.name, type_name(state_->type()), id_);
}

std::exception_ptr actor_core::death() const {
  if (infeasible_) return std::make_exception_ptr(infeasible_error(reason_));
  if (core::get().stopping()) return std::make_exception_ptr(usage_error(session_over_text()));
  return std::make_exception_ptr(actor_died_error(actor_died_message(describe(), reason_)));
}

// Calls ------------------------------------------------------------------------------------------

void actor_core::reserve_call(task* call, const call_options* options) {
  task_extra& extra = extra_of(call);
  if (options != nullptr && !options->concurrency_group.empty()) {
    const auto found = std::find_if(groups_.begin(), groups_.end(), [&](const call_group& group) {
      return group.name == options->concurrency_group;
    });
    if (found == groups_.end()) {
      throw usage_error(unknown_group_message(describe(), options->concurrency_group));
    }
    extra.group = static_cast<std::uint32_t>(found - groups_.begin());
  }
  if (options_.max_pending_calls != 0 &&
      pending_calls_.fetch_add(1, std::memory_order_relaxed) >= options_.max_pending_calls) {
    pending_calls_.fetch_sub(1, std::memory_order_relaxed);
    throw backpressure_error(backpressure_message(describe(), options_.max_pending_calls));
  }
  if (options != nullptr || options_.max_task_retries != 0) {
    task_options settings;
    settings.max_retries = options_.max_task_retries;
    if (options != nullptr) {
      settings.name = options->name;
      settings.max_retries = options->max_retries.value_or(options_.max_task_retries);
      settings.retry_exceptions = options->retry_exceptions;
      settings.timeout = options->timeout;
      settings.stream_buffer = options->stream_buffer;
    }
    set_call_settings(call, make_settings(std::move(settings)));
    // Made now, so that whoever restarts the actor may look at it.
    if (options_.max_restarts != 0 && extra.settings->options.max_retries != 0) {
      extra.arguments_copy = call->operations().make_arguments_copy(call);
    }
  }
  extra.pending.store(options_.max_pending_calls != 0, std::memory_order_relaxed);
  retain(this);
  extra.actor = this;
  // The caller is the actor whose method runs here, else the task, else the driver (null).
  if (current_task != nullptr) {
    const task_extra* calling = current_task->extra();
    extra.caller = calling != nullptr && calling->actor != nullptr
                       ? reinterpret_cast<std::uintptr_t>(calling->actor)
                       : reinterpret_cast<std::uintptr_t>(current_task);
  }
}

void actor_core::no_longer_pending(task* call) noexcept {
  task_extra& extra = *call->extra();
  if (extra.pending.exchange(false, std::memory_order_relaxed)) {
    extra.actor->pending_calls_.fetch_sub(1, std::memory_order_relaxed);
  }
}

void actor_core::accept(task* call) noexcept {
  task_extra& extra = *call->extra();
  actor_core& self = *extra.actor;
  aftermath after;
  bool drop = false;
  {
    const std::lock_guard lock(self.mutex_);
    const bool ready = task_access::unready(call).fetch_sub(1, std::memory_order_acq_rel) == 1;
    if (extra.creates_actor) {
      self.creation_ready_ = self.creation_ready_ || ready;
      drop = self.creation_ready_ && std::exchange(self.creation_dropped_, false);
      self.settle(after);
    } else {
      extra.arguments_arrived = ready;
      const auto lane = self.lanes_.empty() ? self.lanes_.end() : self.lanes_.find(extra.caller);
      if (lane != self.lanes_.end()) {
        lane->second.push_back(call);
      } else if (!ready) {
        self.lanes_[extra.caller].push_back(call);
      } else {
        self.enqueue(call, after);
      }
    }
  }
  self.deliver(after);
  if (drop) call->drop_references(1);
}

void actor_core::arguments_ready(task* call) noexcept {
  task_extra& extra = *call->extra();
  actor_core& self = *extra.actor;
  retain(&self);
  aftermath after;
  bool drop = false;
  {
    const std::lock_guard lock(self.mutex_);
    if (extra.creates_actor) {
      self.creation_ready_ = true;
      drop = std::exchange(self.creation_dropped_, false);
      self.settle(after);
    } else if (const auto lane = self.lanes_.find(extra.caller); lane != self.lanes_.end()) {
      auto& calls = lane->second;
      // Not before its own notification has come here: whoever sends it still looks at the call.
      extra.arguments_arrived = true;
      while (!calls.empty() && calls.front()->extra()->arguments_arrived) {
        task* next = calls.front();
        calls.pop_front();
        self.enqueue(next, after);
      }
      if (calls.empty()) self.lanes_.erase(lane);
      self.settle(after);
    }
  }
  self.deliver(after);
  if (drop) call->drop_references(1);
  release(&self);
}

void actor_core::enqueue(task* call, aftermath& after) {
  if (phase_ == phase::ended || over_) {
    after.failed.push_back(call);
    return;
  }
  call_group& group = groups_[group_of(call)];
  group.queue.push_back(call);
  start_calls(group, after);
}

void actor_core::start_calls(call_group& group, aftermath& after) {
  if (phase_ != phase::alive || stop_after_call_) return;
  while (group.running < group.limit && !group.queue.empty()) {
    task* call = group.queue.front();
    group.queue.pop_front();
    begin_call(group, call);
    after.started.push_back(call);
  }
}

void actor_core::begin_call(call_group& group, task* call) {
  ++group.running;
  call->add_reference();
  running_.push_back(call);
}

/// The caller drops the reference, without the lock.
void actor_core::end_call(call_group& group, task* call) {
  --group.running;
  running_.erase(std::find(running_.begin(), running_.end(), call));
}

void actor_core::deliver(aftermath& after) noexcept {
  exec::pool& pool = core::get().pool;
  for (task* call : after.started) {
    no_longer_pending(call);
    set_flags(call, object::runnable);
    pool.push_free(call);
  }
  if (!after.failed.empty()) {
    std::exception_ptr error;
    {
      const std::lock_guard lock(mutex_);
      error = death();
    }
    for (task* call : after.failed) {
      no_longer_pending(call);
      discard_call(call, error);
    }
  }
  for (task* call : after.interrupted) {
    core::get().interruptions.reach(call);
    call->drop_references(1);
  }
  for (task* call : after.stopped) {
    std::exception_ptr error;
    {
      const std::lock_guard lock(mutex_);
      error = death();
    }
    end_early(call, error, true);
    call->drop_references(1);
  }
  if (after.creation_failed) {
    object_handle creation;
    std::exception_ptr error;
    {
      const std::lock_guard lock(mutex_);
      creation = creation_;
      error = death();
    }
    auto* unbegun = static_cast<task*>(creation.get());
    if (unbegun != nullptr && !unbegun->is_ready() && fail_unbegun(unbegun, error)) {
      // The reference of who would have run it goes, but not while it is linked to an argument.
      bool arrived = false;
      {
        const std::lock_guard lock(mutex_);
        arrived = creation_ready_;
        creation_dropped_ = !arrived;
      }
      if (arrived) unbegun->drop_references(1);
    }
  }
  if (after.start_life) pool.push_free(&life_, true);
  if (after.unreferenced) core::get().scheduler.actor_unreferenced(id_);
}

void actor_core::execute_call(task* call) noexcept {
  if (!claim_runnable(call)) return call->drop_references(1);  // a waiting thread runs it
  actor_core* self = call->extra()->actor;
  retain(self);
  for (int count = 0;; ++count) {
    const std::uint32_t group = group_of(call);
    if (!run_claimed(call, 1)) break;  // suspended (`call_ended` follows), or taken back
    call = self->next_call(group, call);
    if (call == nullptr) break;
    if (count == calls_in_a_row) {
      set_flags(call, object::runnable);
      core::get().pool.push_free(call);
      break;
    }
    // Not runnable until now, so nobody else can have claimed it.
    set_flags(call, object::runnable | object::claimed);
  }
  release(self);
}

bool actor_core::run_call_inline(task* call) noexcept {
  if (!claim_runnable(call)) return false;
  actor_core* self = call->extra()->actor;
  retain(self);
  const std::uint32_t group = group_of(call);
  if (run_claimed(call, 0)) call_ended(self, group, call);
  release(self);
  return true;
}

void actor_core::call_ended(actor_core* self, std::uint32_t group, task* call) noexcept {
  if (task* next = self->next_call(group, call)) {
    set_flags(next, object::runnable);
    core::get().pool.push_free(next);
  }
}

void actor_core::take_back(task* call, std::uint64_t references) noexcept {
  actor_core* self = call->extra()->actor;
  retain(self);
  if (references == 0) call->add_reference();  // the queue's
  if (self->options_.max_pending_calls != 0) {
    call->extra()->pending.store(true, std::memory_order_relaxed);
    self->pending_calls_.fetch_add(1, std::memory_order_relaxed);
  }
  aftermath after;
  {
    const std::lock_guard lock(self->mutex_);
    call_group& group = self->groups_[group_of(call)];
    self->end_call(group, call);
    task_access::word(call).fetch_and(~(object::runnable | object::claimed | object::to_repeat),
                                      std::memory_order_relaxed);
    if (self->phase_ == phase::ended || self->over_) {
      after.failed.push_back(call);
    } else {
      group.queue.push_front(call);
    }
    self->settle(after);
  }
  self->deliver(after);
  call->drop_references(1);
  release(self);
}

/// The place of an ended call goes to the next one of its group, which the caller runs.
task* actor_core::next_call(std::uint32_t index, task* ended) noexcept {
  take_checkpoint(ended);
  aftermath after;
  task* next = nullptr;
  {
    const std::lock_guard lock(mutex_);
    call_group& group = groups_[index];
    end_call(group, ended);
    if (stop_after_call_ && phase_ == phase::alive) {
      can_restart_ = false;
      begin_stop("it ended itself with ray::exit_actor", after);
    }
    if (phase_ == phase::alive && group.running < group.limit && !group.queue.empty()) {
      next = group.queue.front();
      group.queue.pop_front();
      begin_call(group, next);
      no_longer_pending(next);
    } else {
      settle(after);
    }
  }
  deliver(after);
  ended->drop_references(1);
  return next;
}

// A method that waits for its own actor ----------------------------------------------------------

namespace {

/// The call of `actor` that `target` is or waits for first, if nobody has begun it.
task* unbegun_call(object* target, const actor_core* actor) noexcept {
  if (target->operations().run == nullptr || (target->word() & object::claimed) != 0)
    return nullptr;
  auto* one = static_cast<task*>(target);
  const task_extra* extra = one->extra();
  return extra != nullptr && extra->actor == actor ? one : nullptr;
}

}  // namespace

bool actor_core::is_own_unbegun_call(object* one) noexcept {
  const task_extra* extra = current_task != nullptr ? current_task->extra() : nullptr;
  return extra != nullptr && extra->actor != nullptr && unbegun_call(one, extra->actor) != nullptr;
}

actor_core::own_call_guard::own_call_guard(object* target) {
  if (current_task == nullptr || current_task->extra() == nullptr) return;
  actor_core* self = current_task->extra()->actor;
  if (self == nullptr) return;
  task* call = unbegun_call(target, self);
  if (call == nullptr) return;
  const std::lock_guard lock(self->mutex_);
  const std::uint32_t index = call->extra()->creates_actor ? 0 : group_of(call);
  if (index != group_of(current_task) && !current_task->extra()->creates_actor) return;
  call_group& group = self->groups_[index];
  if (current_task->extra()->creates_actor || group.waiting_for_own + 1 >= group.limit) {
    throw usage_error(own_call_message(self->describe()));
  }
  ++group.waiting_for_own;
  actor_ = self;
  group_ = index;
}

actor_core::own_call_guard::~own_call_guard() {
  if (actor_ == nullptr) return;
  const std::lock_guard lock(actor_->mutex_);
  --actor_->groups_[group_].waiting_for_own;
}

// Life -------------------------------------------------------------------------------------------

void actor_core::start(task* creation) {
  creation_ = object_handle::share(creation);
  task_extra& extra = extra_of(creation);
  retain(this);
  extra.actor = this;
  extra.creates_actor = true;
  if (options_.max_restarts != 0) {
    creation_copy_ = creation->operations().make_arguments_copy(creation);
  }
  if (options_.lifetime == actor_lifetime::detached) {
    add_handle();
    holds_itself_ = true;
  }
  head::create_actor request;
  request.id = id_;
  request.job = core::get().scheduler.job();
  request.spec = spec_of(options_, describe());
  request.type_name = type_name(state_->type());
  request.name = options_.name;
  request.name_space = options_.name_space;
  request.get_if_exists = options_.get_if_exists;
  request.detached = options_.lifetime == actor_lifetime::detached;
  request.max_restarts = options_.max_restarts;
  core::get().scheduler.create_actor(request, this);
}

void actor_core::stand_for(actor_core* other) noexcept {
  if (other != nullptr && other->try_add_handle()) stood_for_ = other;
}

void actor_core::answer(const head::effect& what) noexcept {
  aftermath after;
  {
    const std::lock_guard lock(mutex_);
    if (const auto* placed = std::get_if<head::actor_placed>(&what)) {
      placed_ = true;
      incarnation_ = placed->incarnation;
      cls_ = placed->cls;
      settle(after);
    } else if (const auto* stop = std::get_if<head::actor_stop>(&what)) {
      begin_stop(stop->reason, after);
    } else if (const auto* restarting = std::get_if<head::actor_restarting>(&what)) {
      reason_ = restarting->reason;
    } else if (const auto* failed = std::get_if<head::actor_failed>(&what)) {
      end_books(failed->reason, after);
    } else if (const auto* ended = std::get_if<head::actor_ended>(&what)) {
      end_books(ended->reason, after);
    } else if (const auto* infeasible = std::get_if<head::infeasible>(&what)) {
      infeasible_ = true;
      end_books(infeasible->text, after);
    }
  }
  deliver(after);
  if (std::holds_alternative<head::infeasible>(what)) core::get().scheduler.kill_actor(id_, false);
  forget_creation();
}

/// The actor is over for all who hold it; what still runs is left to return.
void actor_core::end_books(const std::string& reason, aftermath& after) {
  if (!std::exchange(over_, true) && phase_ != phase::stopping) reason_ = reason;
  if (phase_ == phase::waiting) {
    phase_ = phase::ended;
    after.creation_failed = true;
  } else if (phase_ == phase::alive || phase_ == phase::starting) {
    begin_stop(reason, after);
  } else if (phase_ == phase::stopping) {
    // There is no next incarnation after all.
    for (task* call : running_) {
      if ((call->word() & object::to_repeat) == 0) continue;
      call->add_reference();
      after.stopped.push_back(call);
    }
  }
  fail_queued(after);
}

/// This incarnation ends: the futures of what runs end now, the state dies when it has returned.
void actor_core::begin_stop(const std::string& reason, aftermath& after) {
  if (phase_ == phase::stopping || phase_ == phase::ended) return;
  reason_ = reason;
  phase_ = phase::stopping;
  const bool may_return = options_.max_restarts != 0 && can_restart_ && !over_;
  for (task* call : running_) {
    call->add_reference();
    // A coroutine's frame is that of the old state: such a call is not repeated.
    if (may_return && !call->operations().may_suspend && may_repeat(call)) {
      set_flags(call, object::to_repeat);
      after.interrupted.push_back(call);
    } else {
      after.stopped.push_back(call);
    }
  }
  settle(after);
}

void actor_core::fail_queued(aftermath& after) {
  for (auto& group : groups_) {
    for (task* call : std::exchange(group.queue, {})) after.failed.push_back(call);
  }
  // Calls in lanes fail too, but stay there until their arguments let go of them.
  for (auto& [caller, calls] : lanes_) {
    for (task* call : calls) {
      call->add_reference();
      after.stopped.push_back(call);
    }
  }
}

/// Whatever the books say is due now.
void actor_core::settle(aftermath& after) noexcept {
  const bool due_to_start = phase_ == phase::waiting && placed_ && creation_ready_;
  const bool due_to_stop = phase_ == phase::stopping && running_.empty();
  if ((due_to_start || due_to_stop) && !life_queued_) {
    if (due_to_start) phase_ = phase::starting;
    life_queued_ = true;
    references_.fetch_add(1, std::memory_order_relaxed);  // the job's
    after.start_life = true;
  }
  const bool held = handles_.load(std::memory_order_acquire) != 0;
  if (!held && !unreferenced_told_ && running_.empty() && lanes_.empty() &&
      (phase_ == phase::alive || phase_ == phase::waiting) &&
      std::all_of(groups_.begin(), groups_.end(),
                  [](const call_group& group) { return group.queue.empty(); })) {
    unreferenced_told_ = true;
    after.unreferenced = true;
  }
}

void actor_core::execute_life(exec::job* item) noexcept {
  actor_core* self = static_cast<life_job*>(item)->actor;
  bool starts = false;
  {
    const std::lock_guard lock(self->mutex_);
    starts = self->phase_ == phase::starting;
  }
  if (starts) {
    self->run_constructor();
  } else {
    self->stop_state();
  }
  release(self);
}

void actor_core::run_constructor() noexcept {
  std::exception_ptr error;
  bool explained = false;  // `constructor_failed` has said why
  auto* creation = static_cast<task*>(creation_.get());
  if (creation->claim()) {
    run_claimed(creation, 1);
    if ((creation->word() & object::failed) != 0) error = creation->error();
    const std::lock_guard lock(mutex_);
    explained = !reason_.empty();
  } else {
    error = construct_again();
    if (error != nullptr) static_cast<void>(constructor_failed(error));
  }
  aftermath after;
  std::int64_t incarnation = 0;
  std::string reason;
  {
    const std::lock_guard lock(mutex_);
    life_queued_ = false;
    incarnation = incarnation_;
    if (error != nullptr) {
      explained = explained || phase_ == phase::stopping;
      reason_ = reason = explained ? reason_ : constructor_threw(error);
      phase_ = phase::ended;
      placed_ = false;
      fail_queued(after);
      after.creation_failed = true;
    } else if (phase_ == phase::starting) {
      phase_ = phase::alive;
      checkpoint_due_ = next_checkpoint();
      for (auto& group : groups_) start_calls(group, after);
      settle(after);
    } else {
      settle(after);
    }
  }
  deliver(after);
  if (error != nullptr) core::get().scheduler.actor_died(id_, incarnation, reason, false);
}

/// Another incarnation: from the last checkpoint, else by the constructor again.
std::exception_ptr actor_core::construct_again() noexcept {
  try {
    if (core::get().stopping()) throw usage_error(session_over_text());
    if (checkpoint_) {
      checkpoint_source source(checkpoint_->bytes());
      state_->load(source);
      return nullptr;
    }
    auto* creation = static_cast<task*>(creation_.get());
    creation->operations().restore_arguments(creation, creation_copy_);
    task_access::arguments_gone(creation) = false;
    return run_again(creation);
  } catch (...) {
    return std::current_exception();
  }
}

void actor_core::stop_state() noexcept {
  state_->destroy();
  std::int64_t incarnation = 0;
  std::string reason;
  bool can_restart = false;
  aftermath after;
  {
    const std::lock_guard lock(mutex_);
    life_queued_ = false;
    placed_ = false;
    stop_after_call_ = false;
    // Unless it is over, the machine's answer says what comes next; calls wait for that.
    phase_ = over_ ? phase::ended : phase::waiting;
    incarnation = incarnation_;
    reason = reason_;
    can_restart = std::exchange(can_restart_, true);
    after.creation_failed = phase_ == phase::ended;
  }
  deliver(after);
  core::get().scheduler.actor_died(id_, incarnation, reason, can_restart);
  forget_creation();
}

void actor_core::kill(bool restart) {
  require_session();
  core::get().scheduler.kill_actor(id_, restart);
}

std::exception_ptr actor_core::constructor_failed(const std::exception_ptr& error) {
  const std::lock_guard lock(mutex_);
  if (phase_ != phase::stopping) reason_ = constructor_threw(error);
  return death();
}

void actor_core::exit() noexcept {
  const std::lock_guard lock(mutex_);
  stop_after_call_ = true;
}

void actor_core::abandon() noexcept {
  const std::lock_guard lock(mutex_);
  phase_ = phase::ended;
  over_ = true;
  reason_ = "another actor of that name exists and was used instead";
}

void actor_core::end_session() noexcept {
  aftermath after;
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
    if (reason_.empty()) reason_ = session_over_text();
    if (phase_ != phase::ended) phase_ = phase::stopping;
    life_queued_ = true;  // nothing is queued any more: `end_state` does the rest
    fail_queued(after);
    after.creation_failed = true;
  }
  deliver(after);
}

void actor_core::end_state() noexcept {
  state_->destroy();
  {
    const std::lock_guard lock(mutex_);
    phase_ = phase::ended;
  }
  forget_creation();
}

// Checkpoints ------------------------------------------------------------------------------------

std::chrono::steady_clock::time_point actor_core::next_checkpoint() const noexcept {
  if (options_.checkpoint_every == forever) return std::chrono::steady_clock::time_point::max();
  return std::chrono::steady_clock::now() + options_.checkpoint_every;
}

/// Called by the thread that has just ended a call and still has its place: when no other call
/// runs, none can begin, and the state is at rest. An answered call is covered also when the actor
/// is asked to stop at that moment; one that was stopped is not.
void actor_core::take_checkpoint(const task* ended) noexcept {
  if (options_.checkpoint_every == forever) return;
  {
    const std::lock_guard lock(mutex_);
    if ((phase_ != phase::alive && phase_ != phase::stopping) || running_.size() != 1 ||
        (ended->word() & object::cancelled) != 0 ||
        std::chrono::steady_clock::now() < checkpoint_due_) {
      return;
    }
    if (phase_ == phase::alive) phase_ = phase::starting;  // nothing begins
  }
  std::optional<image> taken;
  try {
    taken.emplace();
    state_->save(*taken);
  } catch (const std::exception& error) {
    taken.reset();
    log(log_level::warning, checkpoint_failed_message(describe(), error.what()));
  } catch (...) {
    taken.reset();
    log(log_level::warning, checkpoint_failed_message(describe(), "an exception of unknown type"));
  }
  aftermath after;
  {
    const std::lock_guard lock(mutex_);
    if (phase_ == phase::starting) phase_ = phase::alive;
    if (taken) std::swap(checkpoint_, taken);
    checkpoint_due_ = next_checkpoint();
    for (auto& group : groups_) start_calls(group, after);
  }
  deliver(after);
}

// The public side --------------------------------------------------------------------------------

actor_core* new_actor(actor_options options, std::unique_ptr<actor_state> state) {
  require_session();
  check_actor_options(options, *state);
  if (options.name_space.empty()) options.name_space = core::get().options.name_space;
  return new actor_core(std::move(options), std::move(state));
}

actor_core* start_actor(actor_core* actor, task* creation) {
  actor->start(creation);
  if (actor_core* other = actor->stood_for()) {
    actor->abandon();
    actor->drop_handle();
    return other;
  }
  return actor;
}

void add_actor_handle(actor_core* actor) noexcept { actor->add_handle(); }
void drop_actor_handle(actor_core* actor) noexcept { actor->drop_handle(); }
actor_state& state_of(actor_core* actor) noexcept { return actor->state(); }
actor_id id_of(actor_core* actor) noexcept { return actor->id(); }
object_handle ready_of(actor_core* actor) { return actor->ready(); }
void kill_actor(actor_core* actor, bool restart) { actor->kill(restart); }

actor_core* find_actor_core(const std::string& name, const std::string& name_space) {
  require_session();
  return core::get().scheduler.find_actor(
      name, name_space.empty() ? core::get().options.name_space : name_space);
}

void set_actor_call(task* call, actor_core* actor,
                    const std::shared_ptr<const call_options>& options) {
  actor->reserve_call(call, options.get());
}

}  // namespace ray::detail

namespace ray {

void exit_actor() {
  const detail::task_extra* extra =
      detail::current_task != nullptr ? detail::current_task->extra() : nullptr;
  if (extra == nullptr || extra->actor == nullptr || extra->creates_actor) {
    throw usage_error(
        "ray::exit_actor: no method of an actor runs here; end an actor from outside "
        "with its handle's kill()");
  }
  extra->actor->exit();
}

}  // namespace ray
