/// Placement groups: bundles reserved on nodes, all or none, and reserved anew when a node goes.
#include "head/machine.hpp"

#include <algorithm>
#include <utility>

namespace ray::detail::head {

std::string_view to_string(group_strategy strategy) {
  switch (strategy) {
    case group_strategy::pack:
      return "pack";
    case group_strategy::spread:
      return "spread";
    case group_strategy::strict_pack:
      return "strict_pack";
    case group_strategy::strict_spread:
      return "strict_spread";
  }
  return "unknown";
}

void machine::apply(const create_group& in, effects& out) {
  const std::string who = "placement group " + to_string(in.id);
  if (in.id == group_id{}) throw usage_error("a placement group cannot be made without an id");
  known_job(in.job, who);
  if (in.bundles.empty())
    throw usage_error(who + " cannot be made: it has no bundles; give it at least one");
  constexpr std::size_t most = 4096;  // so many of the largest amounts can be added up
  if (in.bundles.size() > most)
    throw usage_error(who + " cannot be made: it has " + std::to_string(in.bundles.size()) +
                      " bundles; at most " + std::to_string(most) + " can be had together");
  for (std::size_t index = 0; index < in.bundles.size(); ++index) {
    const std::string which = who + " cannot be made: in bundle " + std::to_string(index) + ' ';
    if (const auto problem = in.bundles[index].resources.problem())
      throw usage_error(which + *problem);
    if (in.bundles[index].resources.empty())
      throw usage_error(which + "nothing is asked for; a bundle needs some resource");
  }
  if (groups_.contains(in.id)) return;
  const auto group = groups_.emplace(in.id, group_record{}).first;
  group->second.job = in.job;
  group->second.shape = {in.job, in.strategy, in.bundles};
  const place books = jobs_.at(in.job).books;
  for (const bundle_spec& bundle : in.bundles)
    group->second.bundles.push_back(
        {.need = names_.request_of(bundle.resources), .pool = scheduler_.add_pool(books)});
  wait_in_line(group, out);
  carry_out(out);
}

void machine::apply(const remove_group& in, effects& out) {
  const auto group = groups_.find(in.id);
  if (group == groups_.end()) return;
  remove_group_of(group, false, out);
  carry_out(out);
}

/// A group that has all its bundles yet to get waits with others of its shape; one that has lost
/// some is like no other.
place machine::line_for(const group_record& group) {
  const bool whole = std::ranges::none_of(
      group.bundles, [](const bundle_record& bundle) { return bundle.node != nowhere; });
  if (whole)
    if (const auto known = shape_places_.find(group.shape); known != shape_places_.end())
      return known->second;

  std::vector<bundle_need> needs;
  line_spec spec{.kind = line_kind::groups, .job = jobs_.at(group.job).books};
  for (std::size_t index = 0; index < group.bundles.size(); ++index) {
    const label_map& labels = group.shape.bundles[index].labels;
    needs.push_back({group.bundles[index].need, labels, nodes_with(labels)});
    if (!whole) spec.fixed.push_back(group.bundles[index].node);
  }
  spec.shape = std::make_shared<group_shape>(std::move(needs), group.shape.strategy);
  spec.need = spec.shape->sum;
  const place line = new_record(std::move(spec), group.job, "a placement group");
  if (whole) classes_[line].shape = &shape_places_.emplace(group.shape, line).first->first;
  return line;
}

void machine::wait_in_line(group_map::iterator group, effects& out) {
  const place line = line_for(group->second);
  group->second.line = line;
  classes_[line].groups.push_back(group->first);
  if (known_infeasible(line)) report_infeasible(line, group->first, out);
  scheduler_.want(line, static_cast<std::int64_t>(classes_[line].groups.size()));
}

void machine::leave_line(group_map::iterator group) {
  const place line = std::exchange(group->second.line, nowhere);
  if (line == nowhere) return;
  auto& waiting = classes_[line].groups;
  std::erase(waiting, group->first);
  scheduler_.want(line, static_cast<std::int64_t>(waiting.size()));
  if (waiting.empty()) forget_record(line);
}

void machine::placed_group(place line, const std::vector<place>& nodes, effects& out) {
  const auto group = groups_.find(classes_[line].groups.front());
  classes_[line].groups.pop_front();
  group->second.line = nowhere;
  for (std::size_t index = 0; index < nodes.size(); ++index) {
    bundle_record& bundle = group->second.bundles[index];
    if (bundle.node != nowhere) continue;
    bundle.node = nodes[index];
    scheduler_.open_pool(bundle.pool, bundle.need);
  }
  out.push_back(group_ready{group->first, group->second.job, view_of(group).nodes});
  if (classes_[line].groups.empty()) forget_record(line);
}

/// The groups that have lost bundles. What was in these has been given back already.
std::vector<group_id> machine::lose_bundles(place node) {
  std::vector<group_id> incomplete;
  for (auto group = groups_.begin(); group != groups_.end(); ++group) {
    bool lost = false;
    for (bundle_record& bundle : group->second.bundles) {
      if (bundle.node != node) continue;
      scheduler_.lose_pool(bundle.pool);
      scheduler_.give_back_bundle(jobs_.at(group->second.job).books, node, bundle.need);
      bundle.node = nowhere;
      lost = true;
    }
    if (!lost) continue;
    leave_line(group);
    incomplete.push_back(group->first);
  }
  return incomplete;
}

void machine::remove_group_of(group_map::iterator group, bool job_ends, effects& out) {
  const std::string reason = "placement group " + to_string(group->first) + " was removed";
  leave_line(group);
  for (const bundle_record& bundle : group->second.bundles) {
    if (bundle.node != nowhere)
      scheduler_.give_back_bundle(jobs_.at(group->second.job).books, bundle.node, bundle.need);
    scheduler_.close_pool(bundle.pool, bundle.node);
    const std::vector<place> classes = bundle.classes;
    for (const place cls : classes) cancel_class(cls, reason, job_ends, out);
  }
  out.push_back(group_removed{group->first, group->second.job});
  groups_.erase(group);
}

/// What runs in the class goes on, against the node, until it is released. A detached actor
/// outlives its job's groups, but not a group that somebody removes.
void machine::cancel_class(place cls, const std::string& reason, bool job_ends, effects& out) {
  class_record& one = classes_[cls];
  one.cancelled = true;
  one.group = nullptr;
  if (!one.key->of_actors) {
    if (!job_ends) out.push_back(class_cancelled{one.job, id_of(cls), reason});
    forget_if_unused(cls);
    return;
  }
  const std::set<actor_id> members = one.members;
  for (const actor_id id : members) {
    const auto actor = actors_.find(id);
    const bool stays = job_ends && actor->second.state == actor_state::alive;
    if (!stays && !actor->second.ended) end_actor(actor, reason, out);
  }
}

group_view machine::view_of(group_map::const_iterator group) const {
  group_view view{.id = group->first,
                  .job = group->second.job,
                  .strategy = group->second.shape.strategy,
                  .ready = group->second.line == nowhere};
  for (const bundle_record& bundle : group->second.bundles)
    view.nodes.push_back(bundle.node == nowhere ? node_id{} : nodes_[bundle.node].id);
  return view;
}

std::vector<group_view> machine::groups() const {
  std::vector<group_view> views;
  for (auto group = groups_.begin(); group != groups_.end(); ++group)
    views.push_back(view_of(group));
  return views;
}

std::optional<group_view> machine::find_group(group_id id) const {
  const auto group = groups_.find(id);
  if (group == groups_.end()) return std::nullopt;
  return view_of(group);
}

}  // namespace ray::detail::head
