#include "runtime/scheduling.hpp"

#include "runtime/actor_core.hpp"
#include "runtime/ancestry.hpp"
#include "runtime/core.hpp"
#include "runtime/messages.hpp"
#include "runtime/placement_spec.hpp"
#include "runtime/task_extra.hpp"

#include <ray/error.hpp>
#include <ray/log.hpp>

#include <algorithm>
#include <type_traits>
#include <utility>

namespace ray::detail {

// The session ------------------------------------------------------------------------------------

void scheduling::start(const runtime::session_options& options, node_id node, job_id job) {
  aftermath after;
  {
    const std::lock_guard lock(mutex_);
    machine_.emplace();
    ++session_;
    node_ = node;
    job_ = job;
    infeasible_is_error_ = options.infeasible_is_error;
    apply_locked(head::add_job{job, options.priority, options.name_space}, after);
    tokens_ = machine_->class_of(job, head::class_spec{head::resource_set(1), {}, {}, 0, false},
                                 "the plain tasks");
    head::add_node own{node, "local",
                       head::resource_set(options.num_cpus, options.num_gpus,
                                          options.object_store_memory, options.resources),
                       options.labels};
    apply_locked(own, after);
    standing_wanted_ = options.num_cpus.units() / amount::units_per_one;
    apply_locked(head::standing{tokens_, standing_wanted_}, after);
  }
  deliver(after);
  if (standing_wanted_ == 0) core::get().pool.want_work();  // to say that plain tasks wait
}

std::vector<actor_core*> scheduling::stop() noexcept {
  aftermath after;
  std::vector<actor_core*> left;
  {
    const std::lock_guard lock(mutex_);
    machine_.reset();
    for (auto& [id, queue] : queues_) {
      for (task* one : queue.waiting) {
        after.failed.emplace_back(one,
                                  std::make_exception_ptr(usage_error(session_over_message(one))));
      }
    }
    queues_.clear();
    for (auto& [id, ready] : groups_) {
      after.groups.emplace_back(std::move(ready),
                                std::make_exception_ptr(usage_error(session_over_text())));
    }
    groups_.clear();
    for (auto& [id, actor] : std::exchange(actors_, {})) left.push_back(actor);
  }
  deliver(after);
  return left;
}

void scheduling::deliver(aftermath& after) noexcept {
  for (const auto& text : after.warnings) log(log_level::warning, text);
  for (task* one : after.granted) {
    task_access::word(one).fetch_or(object::runnable, std::memory_order_release);
    core::get().pool.push_free(one, true);
  }
  for (task* one : after.dropped) one->drop_references(1);
  for (auto& [one, error] : after.failed) {
    fail_unbegun(one, std::move(error));
    one->drop_references(1);
  }
  for (auto& [ready, error] : after.groups) {
    if (error != nullptr) {
      ready->fail(std::move(error), object::observed);
    } else {
      ready->publish(0);
    }
  }
  for (auto& [actor, what] : after.actors) {
    actor->answer(what);
    actor_core::release(actor);
  }
  if (after.tokens_given_back) core::get().pool.want_work();
}

template <typename Input>
void scheduling::apply(const Input& input) noexcept {
  aftermath after;
  {
    const std::lock_guard lock(mutex_);
    if (machine_) apply_locked(input, after);
  }
  deliver(after);
}

template <typename Input>
void scheduling::apply_locked(const Input& input, aftermath& after) {
  head::effects effects;
  machine_->apply(input, effects);
  carry_out(effects, after);
}

/// Carrying out an effect can give the machine something new to say: the list grows while it is
/// worked off.
void scheduling::carry_out(head::effects& effects, aftermath& after) {
  for (std::size_t next = 0; next < effects.size(); ++next) {
    head::effects more;
    std::visit(
        [&](const auto& one) {
          using type = std::decay_t<decltype(one)>;
          if constexpr (std::is_same_v<type, head::grant>) {
            if (one.cls == tokens_) {
              const std::int64_t back = core::get().pool.deposit(one.slots);
              if (back > 0) machine_->apply(head::release{tokens_, node_, back, false}, more);
            } else {
              grant_tasks(one, more, after);
            }
          } else if constexpr (std::is_same_v<type, head::recall>) {
            recall_tokens(one, more, after);
          } else if constexpr (std::is_same_v<type, head::class_cancelled>) {
            const auto error =
                std::make_exception_ptr(cancelled_error(group_removed_text(one.reason)));
            end_class(
                one.cls, [&](task*) { return error; }, after);
          } else if constexpr (std::is_same_v<type, head::infeasible>) {
            tell_infeasible(one, after);
          } else if constexpr (std::is_same_v<type, head::group_ready>) {
            if (const auto found = groups_.find(one.id); found != groups_.end()) {
              after.groups.emplace_back(std::move(found->second), nullptr);
              groups_.erase(found);
            }
          } else if constexpr (std::is_same_v<type, head::group_removed>) {
            if (const auto found = groups_.find(one.id); found != groups_.end()) {
              after.groups.emplace_back(
                  std::move(found->second),
                  std::make_exception_ptr(cancelled_error(group_removed_text("it was removed"))));
              groups_.erase(found);
            }
          } else if constexpr (std::is_same_v<type, head::actor_exists>) {
            tell_actor(one.requested, one, after);
          } else if constexpr (
              requires { one.incarnation; } || requires { one.reason; }) {
            if constexpr (requires {
                            { one.id } -> std::convertible_to<actor_id>;
                          }) {
              tell_actor(one.id, one, after);
            }
          }
        },
        effects[next]);
    effects.insert(effects.end(), std::make_move_iterator(more.begin()),
                   std::make_move_iterator(more.end()));
  }
}

// Tasks ------------------------------------------------------------------------------------------

void scheduling::enqueue(task* one) noexcept {
  aftermath after;
  try {
    const std::lock_guard lock(mutex_);
    if (!machine_) throw usage_error(session_over_message(one));
    const call_settings& settings = *one->extra()->settings;
    if (settings.session != session_) {
      settings.cls =
          machine_->class_of(job_, spec_of(settings.options, describe(one)), describe_kind(one));
      settings.session = session_;
    }
    one->extra()->cls = settings.cls;
    auto& queue = queues_[settings.cls];
    queue.waiting.push_back(one);
    try {
      apply_locked(head::demand{settings.cls, static_cast<std::int64_t>(queue.waiting.size())},
                   after);
    } catch (...) {
      std::erase(queue.waiting, one);
      throw;
    }
  } catch (...) {
    after.failed.emplace_back(one, std::current_exception());
  }
  deliver(after);
}

void scheduling::grant_tasks(const head::grant& one, head::effects& more, aftermath& after) {
  auto& queue = queues_[one.cls].waiting;
  std::int64_t left = one.slots;
  while (left > 0 && !queue.empty()) {
    task* next = queue.front();
    queue.pop_front();
    if ((next->word() & (object::ready | object::claimed)) != 0) {
      after.dropped.push_back(next);
      continue;
    }
    next->extra()->holds_slot = true;
    after.granted.push_back(next);
    --left;
  }
  if (left > 0) machine_->apply(head::release{one.cls, one.node, left, false}, more);
  machine_->apply(head::demand{one.cls, static_cast<std::int64_t>(queue.size())}, more);
}

void scheduling::task_ended(task* one) noexcept {
  task_extra& extra = *one->extra();
  if (!std::exchange(extra.holds_slot, false)) return;
  apply(head::release{extra.cls, node_, 1, false});
}

void scheduling::task_blocked(task* one) noexcept {
  apply(head::lend{one->extra()->cls, node_, 1});
}

void scheduling::task_resumed(task* one) noexcept {
  apply(head::reclaim{one->extra()->cls, node_, 1});
}

void scheduling::actor_blocked(head::class_id cls) noexcept { apply(head::lend{cls, node_, 1}); }

void scheduling::actor_resumed(head::class_id cls) noexcept { apply(head::reclaim{cls, node_, 1}); }

void scheduling::sweep_cancelled() noexcept {
  aftermath after;
  std::vector<task*> waiting;
  {
    const std::lock_guard lock(mutex_);
    for (auto& [id, queue] : queues_) {
      for (task* one : queue.waiting) {
        one->add_reference();
        waiting.push_back(one);
      }
    }
  }
  // Ended here, taken out of their queue when its turn comes.
  for (task* one : waiting) {
    if (end_if_cancelled(one)) fail_unbegun(one, nullptr);
    one->drop_references(1);
  }
}

void scheduling::token_returned() noexcept { apply(head::release{tokens_, node_, 1, false}); }

void scheduling::recall_tokens(const head::recall& one, head::effects& more, aftermath& after) {
  auto& pool = core::get().pool;
  idle_wanted_ = one.slots;
  pool.want_idle(idle_wanted_);
  give_back_idle(more, after);
  const std::int64_t from_busy = std::min(idle_wanted_, one.from_busy);
  const std::int64_t came = pool.ask_back(from_busy);
  if (came > 0) machine_->apply(head::release{tokens_, node_, came, false}, more);
  idle_wanted_ -= from_busy;
  pool.want_idle(idle_wanted_);
}

void scheduling::give_back_idle(head::effects& more, aftermath& after) {
  const std::int64_t idle = core::get().pool.withdraw_idle(idle_wanted_);
  if (idle == 0) return;
  idle_wanted_ -= idle;
  // That lowers the standing demand, or they would come back at once: until work needs them.
  after.tokens_given_back = true;
  machine_->apply(head::release{tokens_, node_, idle, true}, more);
}

void scheduling::token_idle() noexcept {
  aftermath after;
  {
    const std::lock_guard lock(mutex_);
    if (!machine_ || idle_wanted_ == 0) return;
    head::effects effects;
    give_back_idle(effects, after);
    core::get().pool.want_idle(idle_wanted_);
    carry_out(effects, after);
  }
  deliver(after);
}

void scheduling::work_came() noexcept {
  if (standing_wanted_ != 0) return apply(head::standing{tokens_, standing_wanted_});
  log(log_level::warning, infeasible_text("a task needs one CPU, and the session has less", false));
}

void scheduling::drop_class(head::class_id id, std::uint64_t session) noexcept {
  const std::lock_guard lock(mutex_);
  if (!machine_ || session != session_) return;
  machine_->drop_class(id);
  const auto found = queues_.find(id);
  if (found != queues_.end() && found->second.waiting.empty()) queues_.erase(found);
}

template <typename MakeError>
void scheduling::end_class(head::class_id cls, MakeError make_error, aftermath& after) {
  const auto found = queues_.find(cls);
  if (found == queues_.end()) return;
  for (task* one : std::exchange(found->second.waiting, {})) {
    after.failed.emplace_back(one, make_error(one));
  }
}

void scheduling::tell_infeasible(const head::infeasible& one, aftermath& after) {
  const std::string text = infeasible_text(one.text, infeasible_is_error_);
  if (!infeasible_is_error_) {
    after.warnings.push_back(text);
    return;
  }
  const auto error = std::make_exception_ptr(infeasible_error(text));
  if (const auto* cls = std::get_if<head::class_id>(&one.what)) {
    // The machine knows the class; the error names the task.
    const auto name_task = [&](task* waiting) {
      std::string own = text;
      const std::string kind = describe_kind(waiting);
      if (const auto at = own.find(kind); at != std::string::npos) {
        own.replace(at, kind.size(), describe(waiting));
      }
      return std::make_exception_ptr(infeasible_error(own));
    };
    end_class(*cls, name_task, after);
  } else if (const auto* group = std::get_if<head::group_id>(&one.what)) {
    if (const auto found = groups_.find(*group); found != groups_.end()) {
      after.groups.emplace_back(std::move(found->second), error);
      groups_.erase(found);
    }
  } else {
    tell_actor(std::get<actor_id>(one.what), one, after);
  }
}

// Placement groups -------------------------------------------------------------------------------

void scheduling::create_group(head::group_id id, std::vector<head::bundle_spec> bundles,
                              head::group_strategy strategy, object_handle ready) {
  aftermath after;
  {
    const std::lock_guard lock(mutex_);
    if (!machine_) throw_no_session();
    groups_[id] = std::move(ready);
    try {
      apply_locked(head::create_group{id, job_, std::move(bundles), strategy}, after);
    } catch (...) {
      groups_.erase(id);
      throw;
    }
  }
  deliver(after);
}

void scheduling::remove_group(head::group_id id) noexcept { apply(head::remove_group{id}); }

// Actors -----------------------------------------------------------------------------------------

void scheduling::tell_actor(const actor_id& id, const head::effect& one, aftermath& after) {
  const auto found = actors_.find(id);
  if (found == actors_.end()) return;
  actor_core* actor = found->second;
  if (std::holds_alternative<head::actor_ended>(one) ||
      std::holds_alternative<head::actor_failed>(one)) {
    actors_.erase(found);  // its reference goes with the answer
  } else if (const auto* exists = std::get_if<head::actor_exists>(&one)) {
    actors_.erase(found);
    const auto other = actors_.find(exists->existing);
    actor->stand_for(other != actors_.end() ? other->second : nullptr);
  } else {
    actor_core::retain(actor);
  }
  after.actors.emplace_back(actor, one);
}

void scheduling::create_actor(const head::create_actor& request, actor_core* actor) {
  aftermath after;
  {
    const std::lock_guard lock(mutex_);
    if (!machine_) throw_no_session();
    actor_core::retain(actor);
    actors_[request.id] = actor;
    try {
      apply_locked(request, after);
    } catch (...) {
      actors_.erase(request.id);
      actor_core::release(actor);
      throw;
    }
  }
  deliver(after);
}

void scheduling::actor_died(const actor_id& id, std::int64_t incarnation, const std::string& reason,
                            bool can_restart) noexcept {
  apply(head::actor_died{id, incarnation, reason, can_restart});
}

void scheduling::kill_actor(const actor_id& id, bool restart) noexcept {
  apply(head::kill_actor{id, restart});
}

void scheduling::actor_unreferenced(const actor_id& id) noexcept {
  apply(head::actor_unreferenced{id});
}

actor_core* scheduling::find_actor(const std::string& name, const std::string& name_space) {
  const std::lock_guard lock(mutex_);
  if (!machine_) throw_no_session();
  const auto view = machine_->find_actor(name, name_space);
  if (!view) return nullptr;
  const auto found = actors_.find(view->id);
  if (found == actors_.end() || !found->second->try_add_handle()) return nullptr;
  return found->second;
}

std::vector<actor_core*> scheduling::actors() {
  const std::lock_guard lock(mutex_);
  std::vector<actor_core*> all;
  all.reserve(actors_.size());
  for (auto& [id, actor] : actors_) {
    actor_core::retain(actor);
    all.push_back(actor);
  }
  return all;
}

// Queries ----------------------------------------------------------------------------------------

std::vector<head::node_view> scheduling::nodes() {
  const std::lock_guard lock(mutex_);
  if (!machine_) throw_no_session();
  return machine_->nodes();
}

head::resource_set scheduling::total_resources() {
  const std::lock_guard lock(mutex_);
  if (!machine_) throw_no_session();
  return machine_->total_resources();
}

head::resource_set scheduling::available_resources() {
  const std::lock_guard lock(mutex_);
  if (!machine_) throw_no_session();
  return machine_->available_resources();
}

}  // namespace ray::detail
