/// The scheduler of one process: tasks that need other than one CPU wait here in the queue of their
/// class until the head's machine grants them a slot; placement groups and actors' places come from
/// the same machine. One lock: the machine is a state machine for one thread at a time.
///
/// The CPUs of plain tasks are a standing demand of a class of their own, and are the pool's
/// tokens: the machine asks them back when something else needs what they hold.
#pragma once

#include "head/machine.hpp"
#include "runtime/session_options.hpp"

#include <ray/detail/runtime/object.hpp>
#include <ray/id.hpp>
#include <ray/options.hpp>

#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace ray::detail {

class task;
class actor_core;

class scheduling {
 public:
  void start(const runtime::session_options& options, node_id node, job_id job);
  /// Ends what waits with `usage_error`. The actors that had a place, each with its reference.
  std::vector<actor_core*> stop() noexcept;

  // Tasks.
  /// Queues a task whose arguments are ready for a slot of its class; ends it when it asks for what
  /// makes no sense or, if so configured, for what cannot be.
  void enqueue(task* one) noexcept;
  /// A task that held a slot has ended.
  void task_ended(task* one) noexcept;
  /// A task with a slot blocks: its CPU is lent until `task_resumed`.
  void task_blocked(task* one) noexcept;
  void task_resumed(task* one) noexcept;
  /// Ends the queued tasks whose ancestors were cancelled.
  void sweep_cancelled() noexcept;
  /// A token that was asked back has come.
  void token_returned() noexcept;
  /// One that is wanted if idle may be so.
  void token_idle() noexcept;
  /// There is work again after idle tokens were given back.
  void work_came() noexcept;
  /// Settings that had a class are gone.
  void drop_class(head::class_id id, std::uint64_t session) noexcept;

  // Placement groups.
  /// Asks for a group; `ready` ends when it is reserved, or with the error. Throws usage_error.
  void create_group(head::group_id id, std::vector<head::bundle_spec> bundles,
                    head::group_strategy strategy, object_handle ready);
  void remove_group(head::group_id id) noexcept;

  // Actors; the machine's answers go to `actor_core::placed` and its like.
  void create_actor(const head::create_actor& request, actor_core* actor);
  void actor_died(const actor_id& id, std::int64_t incarnation, const std::string& reason,
                  bool can_restart) noexcept;
  void kill_actor(const actor_id& id, bool restart) noexcept;
  void actor_unreferenced(const actor_id& id) noexcept;
  void actor_blocked(head::class_id cls) noexcept;
  void actor_resumed(head::class_id cls) noexcept;
  /// The actor with that name, with a handle for the caller, or null.
  [[nodiscard]] actor_core* find_actor(const std::string& name, const std::string& name_space);
  /// All actors that live, each with a reference for the caller.
  [[nodiscard]] std::vector<actor_core*> actors();

  // Queries.
  [[nodiscard]] std::vector<head::node_view> nodes();
  [[nodiscard]] head::resource_set total_resources();
  [[nodiscard]] head::resource_set available_resources();
  [[nodiscard]] job_id job() const noexcept { return job_; }

 private:
  struct class_queue {
    std::deque<task*> waiting;
  };
  /// What has to be done without the lock, collected while it is held.
  struct aftermath {
    std::vector<task*> granted;
    std::vector<task*> dropped;  // ended while they waited: only the queue's reference is left
    std::vector<std::pair<task*, std::exception_ptr>> failed;
    std::vector<std::pair<object_handle, std::exception_ptr>> groups;
    std::vector<std::pair<actor_core*, head::effect>> actors;  // each with a reference
    std::vector<std::string> warnings;
    bool tokens_given_back = false;  // idle ones
  };
  static void deliver(aftermath& after) noexcept;

  template <typename Input>
  void apply(const Input& input) noexcept;
  template <typename Input>
  void apply_locked(const Input& input, aftermath& after);
  void carry_out(head::effects& effects, aftermath& after);
  void grant_tasks(const head::grant& one, head::effects& more, aftermath& after);
  void recall_tokens(const head::recall& one, head::effects& more, aftermath& after);
  void give_back_idle(head::effects& more, aftermath& after);
  template <typename MakeError>
  void end_class(head::class_id cls, MakeError make_error, aftermath& after);
  void tell_infeasible(const head::infeasible& one, aftermath& after);
  void tell_actor(const actor_id& id, const head::effect& one, aftermath& after);

  std::mutex mutex_;
  std::optional<head::machine> machine_;  // while a session runs
  std::uint64_t session_ = 0;             // counts sessions: a class id of another means nothing
  node_id node_;
  job_id job_;
  head::class_id tokens_;
  std::int64_t standing_wanted_ = 0;  // tokens that the pool is to have
  std::int64_t idle_wanted_ = 0;      // tokens that the machine wants back if they are idle
  bool infeasible_is_error_ = false;
  std::map<head::class_id, class_queue> queues_;
  std::map<head::group_id, object_handle> groups_;  // not yet ready
  std::map<actor_id, actor_core*> actors_;          // each with a reference
};

}  // namespace ray::detail
