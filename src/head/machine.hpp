/// The head's machine: the cluster's books and every decision about them, without I/O.
///
/// It keeps nodes, jobs, classes, placement groups, actors and their names, and gives out resources
/// (one ledger: nobody else does). An input is applied, and what has to be done about it is
/// appended to a list of effects that the caller carries out, in order. Nothing in it reads a
/// clock, a random device, a socket or a thread id, so the same inputs give the same effects: one
/// process calls it under a lock, a cluster's head from its loop, a simulator with whatever
/// schedule it likes.
///
/// One thread at a time.
#pragma once

#include "head/messages.hpp"
#include "head/scheduler.hpp"

#include <ray/error.hpp>
#include <ray/id.hpp>

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

namespace ray::detail::head {

struct node_view {
  node_id id = {};
  std::string address = {};
  resource_set resources = {};
  /// Not granted and not reserved. Some of it may be held back for the request that draws.
  resource_set available = {};
  /// Part of what is not available: the slots of standing demands, in use or idle.
  resource_set standing = {};
  label_map labels = {};
};

struct group_view {
  group_id id = {};
  job_id job = {};
  group_strategy strategy = group_strategy::pack;
  bool ready = false;
  std::vector<node_id> nodes = {};  // by bundle; the empty id while a bundle has none
};

enum class actor_state : std::uint8_t { waiting, alive, stopping };

struct actor_view {
  actor_id id = {};
  job_id job = {};
  class_id cls = {};
  actor_state state = actor_state::waiting;
  node_id node = {};  // while not waiting
  std::int64_t incarnation = 0;
  std::string type_name = {};
  std::string name = {};
  std::string name_space = {};
  bool detached = false;
  std::vector<std::byte> details = {};
};

class machine {
 public:
  /// The class of tasks with this spec, made if there is none yet; every call is to be matched by
  /// one `drop_class`, or by the end of the job. `what` names the first task for messages ("task
  /// 'f'"). Throws `usage_error` for absurd amounts, an unknown job, group or bundle, and
  /// `infeasible_error` for more than the bundle ever has.
  [[nodiscard]] class_id class_of(job_id job, const class_spec& spec, const std::string& what);
  /// The caller does not use the class any more; its grants stand until they are released.
  void drop_class(class_id cls);

  // What is asked: `usage_error` if it makes no sense, and then nothing has changed.
  void apply(const add_node& in, effects& out);
  void apply(const add_job& in, effects& out);
  void apply(const demand& in, effects& out);
  void apply(const standing& in, effects& out);
  void apply(const create_group& in, effects& out);
  void apply(const create_actor& in, effects& out);

  // What has happened or is given back: what is not known any more is ignored.
  void apply(const remove_node& in, effects& out);
  void apply(const end_job& in, effects& out);
  void apply(const release& in, effects& out);
  void apply(const lend& in, effects& out);
  void apply(const reclaim& in, effects& out);
  void apply(const remove_group& in, effects& out);
  void apply(const actor_died& in, effects& out);
  void apply(const kill_actor& in, effects& out);
  void apply(const actor_unreferenced& in, effects& out);

  /// Any of the above.
  void step(const input& in, effects& out);

  // Queries; lists are in the order of ids.
  [[nodiscard]] std::vector<node_view> nodes() const;
  [[nodiscard]] resource_set total_resources() const;
  [[nodiscard]] resource_set available_resources() const;
  [[nodiscard]] std::vector<group_view> groups() const;
  [[nodiscard]] std::optional<group_view> find_group(group_id id) const;
  [[nodiscard]] std::vector<actor_view> actors() const;
  [[nodiscard]] std::optional<actor_view> find_actor(actor_id id) const;
  /// By name; a name space of "" has no actors.
  [[nodiscard]] std::optional<actor_view> find_actor(const std::string& name,
                                                     const std::string& name_space) const;
  /// Slots that the class has now, on all nodes.
  [[nodiscard]] std::int64_t granted(class_id cls) const;
  /// Tasks of the class that wait for a slot, or slots that its standing demand lacks.
  [[nodiscard]] std::int64_t waiting(class_id cls) const;

 private:
  friend struct inspector;

  struct node_record {
    bool live = false;
    node_id id = {};
    std::string address = {};
    label_map labels = {};
    request total = {};
  };

  struct job_record {
    place books = nowhere;  // the scheduler's job
    std::string name_space = {};
    bool ended = false;  // only detached actors are left
    std::size_t detached = 0;
  };

  struct class_key {
    job_id job = {};
    bool of_actors = false;
    class_spec spec = {};
    friend auto operator<=>(const class_key&, const class_key&) = default;
  };
  struct shape_key {
    job_id job = {};
    group_strategy strategy = group_strategy::pack;
    std::vector<bundle_spec> bundles = {};
    friend auto operator<=>(const shape_key&, const shape_key&) = default;
  };

  struct bundle_record {
    request need = {};
    place pool = nowhere;
    place node = nowhere;             // while it has one
    std::vector<place> classes = {};  // that draw from it
  };
  struct group_record {
    job_id job = {};
    shape_key shape = {};
    std::vector<bundle_record> bundles = {};
    place line = nowhere;  // while it waits
  };

  /// What the machine knows of a line of the scheduler, at the same place: a class of tasks, one of
  /// actors, or the groups of one shape (a group of which only some bundles wait has a line of its
  /// own).
  struct class_record {
    bool live = false;
    std::uint32_t generation = 0;
    bool cancelled = false;  // its group was removed
    std::int64_t uses = 0;   // `class_of` and actors
    job_id job = {};
    std::string what = {};             // for messages
    const class_key* key = nullptr;    // in `class_places_`; of groups null
    const shape_key* shape = nullptr;  // in `shape_places_`; null unless of whole groups
    group_record* group = nullptr;     // that it draws from
    place bundle = nowhere;            // of that group
    std::deque<actor_id> actors = {};  // that wait, oldest first
    std::deque<group_id> groups = {};  // the same
    std::set<actor_id> members = {};   // all its actors
  };

  struct actor_record {
    job_id job = {};
    place cls = nowhere;
    actor_state state = actor_state::waiting;
    bool ended = false;  // over for its holders, but not known to be gone
    place node = nowhere;
    std::int64_t incarnation = 0;
    int restarts_left = 0;  // -1: no limit
    bool detached = false;
    std::string type_name = {};
    std::string name = {};
    std::string name_space = {};
    std::vector<std::byte> details = {};
  };

  using node_map = std::unordered_map<node_id, place>;
  using class_map = std::map<class_key, place>;
  using shape_map = std::map<shape_key, place>;
  using group_map = std::map<group_id, group_record>;
  using actor_map = std::map<actor_id, actor_record>;
  using name_key = std::pair<std::string, std::string>;  // name space, name

  // machine.cpp
  job_record& known_job(job_id job, const std::string& who);
  [[nodiscard]] place known_node(node_id node) const;
  [[nodiscard]] place account_of(place cls, place node) const;
  [[nodiscard]] place node_of(place cls, place account) const;
  [[nodiscard]] node_filter nodes_with(const label_map& labels) const;
  void filter_node(place node, bool joined);
  void finish_job(std::map<job_id, job_record>::iterator job);
  [[nodiscard]] place task_class(class_id cls, std::int64_t count, effects& out) const;
  void carry_out(effects& out);

  // classes.cpp
  [[nodiscard]] class_id id_of(place cls) const { return {cls, classes_[cls].generation}; }
  [[nodiscard]] place known_class(class_id cls) const;
  [[nodiscard]] place intern(class_key key, const std::string& what);
  void check_bundle(const class_key& key, const group_record& group, const std::string& what) const;
  [[nodiscard]] place new_record(line_spec line, job_id job, const std::string& what);
  void forget_record(place line);
  void forget_if_unused(place cls);
  void revoke_from(place node, effects& out);
  [[nodiscard]] bool known_infeasible(place line) const;
  void report_infeasible(place line, effects& out) const;
  void report_infeasible(place line, group_id group, effects& out) const;
  void report_infeasible(place line, actor_id actor, effects& out) const;
  [[nodiscard]] std::string why_infeasible(const std::string& what, const std::string& wants) const;
  [[nodiscard]] static std::string wishes_of(const class_spec& spec);

  // groups.cpp
  void wait_in_line(group_map::iterator group, effects& out);
  [[nodiscard]] place line_for(const group_record& group);
  void leave_line(group_map::iterator group);
  void placed_group(place line, const std::vector<place>& nodes, effects& out);
  [[nodiscard]] std::vector<group_id> lose_bundles(place node);
  void remove_group_of(group_map::iterator group, bool job_ends, effects& out);
  void cancel_class(place cls, const std::string& reason, bool job_ends, effects& out);
  [[nodiscard]] group_view view_of(group_map::const_iterator group) const;

  // actors.cpp
  void check_actor(const create_actor& in, const std::string& who) const;
  void queue_actor(actor_map::iterator actor, effects& out);
  void placed_actor(place line, place node, effects& out);
  void give_back_slot(const actor_record& actor);
  void end_actor(actor_map::iterator actor, const std::string& reason, effects& out);
  void leave_queue(actor_map::iterator actor);
  [[nodiscard]] bool starts_again(actor_map::iterator actor, const std::string& reason,
                                  bool can_restart, effects& out);
  void free_name(const actor_record& actor);
  void forget_actor(actor_map::iterator actor);
  void end_all_of(job_id job, effects& out);
  [[nodiscard]] std::vector<actor_id> lose_actors(place node, const std::string& reason,
                                                  effects& out);
  [[nodiscard]] static std::string describe(actor_id id, const actor_record& actor);
  [[nodiscard]] actor_view view_of(actor_map::const_iterator actor) const;

  scheduler scheduler_;
  resource_names names_;
  std::vector<node_record> nodes_;
  std::vector<place> free_nodes_;
  node_map node_places_;
  std::map<job_id, job_record> jobs_;
  std::vector<class_record> classes_;
  class_map class_places_;
  shape_map shape_places_;
  group_map groups_;
  actor_map actors_;
  std::map<name_key, actor_id> actor_names_;
  std::vector<scheduler::placement> placed_;  // being carried out
};

}  // namespace ray::detail::head
