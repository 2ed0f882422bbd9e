/// Actors: their names, where each incarnation runs, whether there will be another.
#include "head/machine.hpp"

#include <algorithm>
#include <utility>

namespace ray::detail::head {

std::string machine::describe(actor_id id, const actor_record& actor) {
  std::string text = "actor ";
  if (!actor.name.empty()) text += "'" + actor.name + "' ";
  text += "(";
  if (!actor.type_name.empty()) text += actor.type_name + ", ";
  return text + to_string(id) + ")";
}

void machine::apply(const create_actor& in, effects& out) {
  const std::string who =
      describe(in.id, {.type_name = in.type_name, .name = in.name, .details = {}});
  check_actor(in, who);
  const job_record& job = known_job(in.job, who);
  if (actors_.contains(in.id)) return;
  const name_key name{in.name_space.empty() ? job.name_space : in.name_space, in.name};
  if (!in.name.empty()) {
    if (const auto taken = actor_names_.find(name); taken != actor_names_.end()) {
      if (in.get_if_exists)
        out.push_back(actor_exists{in.id, taken->second});
      else
        out.push_back(
            actor_failed{in.id, who + " was not created: its name is taken in name space '" +
                                    name.first + "' by actor " + to_string(taken->second) +
                                    "; choose another name, or ask for it with get_if_exists"});
      return;
    }
  }
  const place cls = intern({in.job, true, in.spec}, who);
  ++classes_[cls].uses;
  classes_[cls].members.insert(in.id);
  if (!in.name.empty()) actor_names_.emplace(name, in.id);
  if (in.detached) ++jobs_.at(in.job).detached;
  const auto actor = actors_
                         .emplace(in.id, actor_record{.job = in.job,
                                                      .cls = cls,
                                                      .restarts_left = in.max_restarts,
                                                      .detached = in.detached,
                                                      .type_name = in.type_name,
                                                      .name = in.name,
                                                      .name_space = name.first,
                                                      .details = in.details})
                         .first;
  queue_actor(actor, out);
  carry_out(out);
}

void machine::check_actor(const create_actor& in, const std::string& who) const {
  if (in.id == actor_id{}) throw usage_error("an actor cannot be created without an id");
  if (in.detached && in.name.empty())
    throw usage_error(who +
                      " cannot be created: it is detached, so it needs a name to be found by");
  if (in.max_restarts < -1)
    throw usage_error(who + " cannot be created: max_restarts is " +
                      std::to_string(in.max_restarts) + "; -1 means for ever");
}

void machine::apply(const actor_died& in, effects& out) {
  const auto actor = actors_.find(in.id);
  if (actor == actors_.end() || actor->second.state == actor_state::waiting ||
      actor->second.incarnation != in.incarnation)
    return;
  const bool asked_to = actor->second.state == actor_state::stopping;
  if (starts_again(actor, in.reason, in.can_restart || asked_to, out)) queue_actor(actor, out);
  carry_out(out);
}

void machine::apply(const kill_actor& in, effects& out) {
  const auto actor = actors_.find(in.id);
  if (actor == actors_.end() || actor->second.ended) return;
  actor_record& it = actor->second;
  if (!in.restart || it.restarts_left == 0) {
    end_actor(actor, describe(in.id, it) + " was killed", out);
  } else if (it.state == actor_state::alive) {
    it.state = actor_state::stopping;
    out.push_back(actor_stop{in.id, nodes_[it.node].id, it.incarnation,
                             describe(in.id, it) + " was killed, to be restarted"});
  }
  carry_out(out);
}

void machine::apply(const actor_unreferenced& in, effects& out) {
  const auto actor = actors_.find(in.id);
  if (actor == actors_.end() || actor->second.ended || actor->second.detached) return;
  end_actor(actor, describe(in.id, actor->second) + " ended: nobody holds a handle of it", out);
  carry_out(out);
}

void machine::queue_actor(actor_map::iterator actor, effects& out) {
  const place cls = actor->second.cls;
  auto& waiting = classes_[cls].actors;
  waiting.push_back(actor->first);
  if (known_infeasible(cls)) report_infeasible(cls, actor->first, out);
  scheduler_.want(cls, static_cast<std::int64_t>(waiting.size()));
}

void machine::placed_actor(place cls, place node, effects& out) {
  const auto actor = actors_.find(classes_[cls].actors.front());
  classes_[cls].actors.pop_front();
  actor->second.state = actor_state::alive;
  actor->second.node = node;
  out.push_back(actor_placed{actor->first, actor->second.job, id_of(cls), nodes_[node].id,
                             actor->second.incarnation});
}

void machine::give_back_slot(const actor_record& actor) {
  scheduler_.release(actor.cls, account_of(actor.cls, actor.node), 1, false);
}

/// Over for all who hold it. What it has comes back when the incarnation that runs is gone.
void machine::end_actor(actor_map::iterator actor, const std::string& reason, effects& out) {
  actor_record& it = actor->second;
  free_name(it);
  out.push_back(actor_ended{actor->first, reason});
  if (it.state == actor_state::waiting) {
    leave_queue(actor);
    forget_actor(actor);
    return;
  }
  if (it.state == actor_state::alive)
    out.push_back(actor_stop{actor->first, nodes_[it.node].id, it.incarnation, reason});
  it.state = actor_state::stopping;
  it.ended = true;
}

void machine::leave_queue(actor_map::iterator actor) {
  auto& waiting = classes_[actor->second.cls].actors;
  std::erase(waiting, actor->first);
  // A cancelled class wants nothing any more; it has no bundle to be placed in.
  if (classes_[actor->second.cls].cancelled) return;
  scheduler_.want(actor->second.cls, static_cast<std::int64_t>(waiting.size()));
}

/// An incarnation is gone. Whether the actor is to be queued for the next one; if not, it is
/// forgotten.
bool machine::starts_again(actor_map::iterator actor, const std::string& reason, bool can_restart,
                           effects& out) {
  actor_record& it = actor->second;
  give_back_slot(it);
  if (!it.ended && can_restart && it.restarts_left != 0 && !classes_[it.cls].cancelled) {
    if (it.restarts_left > 0) --it.restarts_left;
    it.state = actor_state::waiting;
    it.node = nowhere;
    ++it.incarnation;
    out.push_back(actor_restarting{actor->first, it.incarnation, reason});
    return true;
  }
  if (!it.ended) {
    free_name(it);
    out.push_back(actor_ended{actor->first, reason});
  }
  forget_actor(actor);
  return false;
}

void machine::free_name(const actor_record& actor) {
  if (!actor.name.empty()) actor_names_.erase({actor.name_space, actor.name});
}

void machine::forget_actor(actor_map::iterator actor) {
  const actor_record it = std::move(actor->second);
  classes_[it.cls].members.erase(actor->first);
  --classes_[it.cls].uses;
  forget_if_unused(it.cls);
  actors_.erase(actor);
  if (!it.detached) return;
  const auto job = jobs_.find(it.job);
  --job->second.detached;
  finish_job(job);
}

/// Its job ends: what still runs of it is over with the job's processes, so nobody is told to stop
/// it.
void machine::end_all_of(job_id job, effects& out) {
  for (auto actor = actors_.begin(); actor != actors_.end();) {
    const auto next = std::next(actor);
    actor_record& it = actor->second;
    if (it.job == job && !it.detached) {
      if (!it.ended) {
        free_name(it);
        out.push_back(actor_ended{actor->first, describe(actor->first, it) + " ended: its job " +
                                                    to_string(job) + " has ended"});
      }
      if (it.state == actor_state::waiting)
        leave_queue(actor);
      else
        give_back_slot(it);
      forget_actor(actor);
    }
    actor = next;
  }
}

/// The actors that are to run elsewhere. The others that were there are over.
std::vector<actor_id> machine::lose_actors(place node, const std::string& reason, effects& out) {
  std::vector<actor_id> homeless;
  const std::string why =
      "node " + to_string(nodes_[node].id) + " is gone" + (reason.empty() ? "" : ": ") + reason;
  for (auto actor = actors_.begin(); actor != actors_.end();) {
    const auto next = std::next(actor);
    const actor_id id = actor->first;
    if (actor->second.state != actor_state::waiting && actor->second.node == node)
      if (starts_again(actor, why, true, out)) homeless.push_back(id);
    actor = next;
  }
  return homeless;
}

actor_view machine::view_of(actor_map::const_iterator actor) const {
  const actor_record& it = actor->second;
  return {.id = actor->first,
          .job = it.job,
          .cls = id_of(it.cls),
          .state = it.state,
          .node = it.state == actor_state::waiting ? node_id{} : nodes_[it.node].id,
          .incarnation = it.incarnation,
          .type_name = it.type_name,
          .name = it.name,
          .name_space = it.name_space,
          .detached = it.detached,
          .details = it.details};
}

std::vector<actor_view> machine::actors() const {
  std::vector<actor_view> views;
  for (auto actor = actors_.begin(); actor != actors_.end(); ++actor)
    if (!actor->second.ended) views.push_back(view_of(actor));
  return views;
}

std::optional<actor_view> machine::find_actor(actor_id id) const {
  const auto actor = actors_.find(id);
  if (actor == actors_.end() || actor->second.ended) return std::nullopt;
  return view_of(actor);
}

std::optional<actor_view> machine::find_actor(const std::string& name,
                                              const std::string& name_space) const {
  const auto known = actor_names_.find({name_space, name});
  if (known == actor_names_.end()) return std::nullopt;
  return view_of(actors_.find(known->second));
}

}  // namespace ray::detail::head
