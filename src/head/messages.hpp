/// What goes into the head's machine and what comes out of it, as plain structs.
///
/// An input is something that was asked (it may be refused with `usage_error`) or something that
/// happened (what it says of a thing that is gone is ignored). An effect is something the caller
/// now has to do. Whoever asks mints the id, so asking twice is asking once.
#pragma once

#include "head/resources.hpp"

#include <ray/id.hpp>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace ray::detail::head {

using group_id = basic_id<struct group_tag>;
using ray::to_string;  // beside the overloads of this module

/// A class that the machine has interned: a place in a vector, and how often that place was used
/// before, so that an id kept too long is recognized and never means another class.
struct class_id {
  std::uint32_t index = 0xffffffffU;
  std::uint32_t generation = 0;
  friend auto operator<=>(const class_id&, const class_id&) = default;
};

// Where a task or an actor may run.

/// The first node, in the order in which they joined, that has room: few workers are started, and
/// neighbours share memory.
struct anywhere {
  friend auto operator<=>(const anywhere&, const anywhere&) = default;
};
/// One node after the other.
struct spread_out {
  friend auto operator<=>(const spread_out&, const spread_out&) = default;
};
/// That node; when `soft`, another one if that has no room now.
struct on_node {
  node_id node = {};
  bool soft = false;
  friend auto operator<=>(const on_node&, const on_node&) = default;
};
/// Out of what a placement group has reserved, and nothing else.
struct in_bundle {
  group_id group = {};
  std::int64_t index = 0;
  friend auto operator<=>(const in_bundle&, const in_bundle&) = default;
};

/// All that decides where and when a task may run: equal specs of a job are one class.
struct class_spec {
  resource_set resources = {};
  label_map labels = {};
  std::variant<anywhere, spread_out, on_node, in_bundle> strategy = {};
  int priority = 0;
  bool isolated = false;
  friend auto operator<=>(const class_spec&, const class_spec&) = default;
};

struct bundle_spec {
  resource_set resources = {};
  label_map labels = {};
  friend auto operator<=>(const bundle_spec&, const bundle_spec&) = default;
};

/// `pack` and `spread` are wishes, the strict ones conditions.
enum class group_strategy : std::uint8_t { pack, spread, strict_pack, strict_spread };
[[nodiscard]] std::string_view to_string(group_strategy strategy);

// Inputs.

struct add_node {
  node_id id = {};
  std::string address = {};
  resource_set resources = {};
  label_map labels = {};
};
struct remove_node {
  node_id id = {};
  std::string reason = {};
};
struct add_job {
  job_id id = {};
  int priority = 0;
  std::string name_space = "default";
};
/// Everything that the job holds is given back at once, but for its detached actors.
struct end_job {
  job_id id = {};
};
/// How many tasks of the class wait now for a slot; every grant lowers it by its slots.
struct demand {
  class_id cls = {};
  std::int64_t waiting = 0;
};
/// How many slots of the class the caller wants to keep, whether it has work for all of them or
/// not, and gives back when they are recalled. A class has either this or `demand`.
struct standing {
  class_id cls = {};
  std::int64_t slots = 0;
};
/// Slots come back. `idle`: there was no work for them, so the standing demand falls to what is
/// left; the caller states it anew when it has more work than slots. Otherwise they are granted
/// again in the class's turn.
struct release {
  class_id cls = {};
  node_id node = {};
  std::int64_t slots = 1;
  bool idle = false;
};
/// Tasks (or actors) of the class that run on the node block: others may use their CPUs, not what
/// else they hold. `reclaim` comes before their `release`.
struct lend {
  class_id cls = {};
  node_id node = {};
  std::int64_t slots = 1;
};
/// They go on and have their CPUs back, there being any or not.
struct reclaim {
  class_id cls = {};
  node_id node = {};
  std::int64_t slots = 1;
};
struct create_group {
  group_id id = {};
  job_id job = {};
  std::vector<bundle_spec> bundles = {};
  group_strategy strategy = group_strategy::pack;
};
struct remove_group {
  group_id id = {};
};
struct create_actor {
  actor_id id = {};
  job_id job = {};
  class_spec spec = {};
  std::string type_name = {};
  std::string name = {};        // "": none
  std::string name_space = {};  // "": the job's
  bool get_if_exists = false;
  bool detached = false;
  int max_restarts = 0;                 // -1: for ever
  std::vector<std::byte> details = {};  // what a found handle must know; opaque to the head
};
/// An incarnation is gone and holds nothing any more. Every `actor_placed` is answered by one of
/// these in the end, unless its node was removed or its job has ended.
struct actor_died {
  actor_id id = {};
  std::int64_t incarnation = 0;
  std::string reason = {};
  bool can_restart = true;  // false: it exited, or its constructor threw
};
struct kill_actor {
  actor_id id = {};
  bool restart = false;
};
/// Nobody holds a handle and nothing that was called is left.
struct actor_unreferenced {
  actor_id id = {};
};

using input = std::variant<add_node, remove_node, add_job, end_job, demand, standing, release, lend,
                           reclaim, create_group, remove_group, create_actor, actor_died,
                           kill_actor, actor_unreferenced>;

// Effects.

/// `slots` tasks of the class may run on the node, until as many are released.
struct grant {
  job_id job = {};
  class_id cls = {};
  node_id node = {};
  std::int64_t slots = 0;
};
/// How many slots of a standing demand are now wanted back (in all: it replaces what was said
/// before; 0 withdraws it). Idle ones go back at once, and `from_busy` of them also from tasks that
/// run, when these end.
struct recall {
  job_id job = {};
  class_id cls = {};
  node_id node = {};
  std::int64_t slots = 0;
  std::int64_t from_busy = 0;
};
/// The node is gone, and with it these slots: nothing of them is to be released.
struct revoke {
  job_id job = {};
  class_id cls = {};
  node_id node = {};
  std::int64_t slots = 0;
};
/// The class's placement group was removed: what waits will never run, what runs is to be stopped
/// and released as ever. The answer to any later demand too.
struct class_cancelled {
  job_id job = {};
  class_id cls = {};
  std::string reason = {};
};
/// No node could ever satisfy it. It stays queued until one joins that can. Said once of a group or
/// an actor, and of a class again only when its demand is stated anew and has not grown.
struct infeasible {
  std::variant<class_id, group_id, actor_id> what = {};
  job_id job = {};
  std::string text = {};
};
/// All bundles are reserved; again when some had to be reserved anew because their node was
/// removed.
struct group_ready {
  group_id id = {};
  job_id job = {};
  std::vector<node_id> nodes = {};  // of each bundle
};
struct group_removed {
  group_id id = {};
  job_id job = {};
};
/// The actor is to be started there.
struct actor_placed {
  actor_id id = {};
  job_id job = {};
  class_id cls = {};  // for `lend` and `reclaim`
  node_id node = {};
  std::int64_t incarnation = 0;
};
/// The incarnation is to be stopped; `actor_died` is expected when it is gone.
struct actor_stop {
  actor_id id = {};
  node_id node = {};
  std::int64_t incarnation = 0;
  std::string reason = {};
};
/// It will be placed again, as `incarnation`.
struct actor_restarting {
  actor_id id = {};
  std::int64_t incarnation = 0;
  std::string reason = {};
};
/// It was never created: its name is taken.
struct actor_failed {
  actor_id id = {};
  std::string reason = {};
};
/// It was not created, as `get_if_exists` asks: use that one.
struct actor_exists {
  actor_id requested = {};
  actor_id existing = {};
};
/// It is over for all who hold it, and its name is free.
struct actor_ended {
  actor_id id = {};
  std::string reason = {};
};

using effect = std::variant<grant, recall, revoke, class_cancelled, infeasible, group_ready,
                            group_removed, actor_placed, actor_stop, actor_restarting, actor_failed,
                            actor_exists, actor_ended>;
using effects = std::vector<effect>;

}  // namespace ray::detail::head
