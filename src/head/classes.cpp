/// Classes: interned specs, and the machine's record for each line of the scheduler.
#include "head/machine.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace ray::detail::head {

class_id machine::class_of(job_id job, const class_spec& spec, const std::string& what) {
  known_job(job, what);
  const place cls = intern({job, false, spec}, what);
  ++classes_[cls].uses;
  return id_of(cls);
}

void machine::drop_class(class_id id) {
  const place cls = known_class(id);
  if (cls == nowhere) return;
  --classes_[cls].uses;
  forget_if_unused(cls);
}

place machine::known_class(class_id cls) const {
  const bool known = cls.index < classes_.size() && classes_[cls.index].live &&
                     classes_[cls.index].generation == cls.generation;
  return known ? cls.index : nowhere;
}

place machine::intern(class_key key, const std::string& what) {
  const class_spec& spec = key.spec;
  if (const auto problem = spec.resources.problem())
    throw usage_error(what + " cannot be accepted: " + *problem);
  const auto* in = std::get_if<in_bundle>(&spec.strategy);
  group_record* group = nullptr;
  if (in != nullptr) {
    const auto known = groups_.find(in->group);
    if (known == groups_.end() || known->second.job != key.job)
      throw usage_error(what + " cannot be accepted: its placement group " + to_string(in->group) +
                        " was removed, or never belonged to this job; make another one");
    group = &known->second;
    check_bundle(key, *group, what);
  }
  if (const auto known = class_places_.find(key); known != class_places_.end())
    return known->second;

  line_spec line{.kind = key.of_actors ? line_kind::actors : line_kind::tasks,
                 .job = jobs_.at(key.job).books,
                 .priority = spec.priority,
                 .need = names_.request_of(spec.resources),
                 .where = nodes_with(spec.labels),
                 .spread = std::holds_alternative<spread_out>(spec.strategy)};
  if (const auto* named = std::get_if<on_node>(&spec.strategy)) {
    const place node = known_node(named->node);
    if (node != nowhere && line.where.accepts(node)) line.preferred = node;
    if (!named->soft) line.where = {.any = false};
    if (!named->soft && line.preferred != nowhere) line.where.insert(node);
  }
  if (group != nullptr) {
    line.where = {};
    line.pool = group->bundles[static_cast<std::size_t>(in->index)].pool;
  }
  const place cls = new_record(std::move(line), key.job, what);
  class_record& record = classes_[cls];
  if (group != nullptr) {
    record.group = group;
    record.bundle = static_cast<place>(in->index);
    group->bundles[record.bundle].classes.push_back(cls);
  }
  const auto entry = class_places_.emplace(std::move(key), cls).first;
  record.key = &entry->first;
  return cls;
}

void machine::check_bundle(const class_key& key, const group_record& group,
                           const std::string& what) const {
  const in_bundle& in = std::get<in_bundle>(key.spec.strategy);
  const std::string whose = "placement group " + to_string(in.group);
  const auto count = static_cast<std::int64_t>(group.bundles.size());
  if (in.index < 0 || in.index >= count)
    throw usage_error(what + " cannot be accepted: it names bundle " + std::to_string(in.index) +
                      " of " + whose + ", which has bundles 0 to " + std::to_string(count - 1));
  const bundle_spec& bundle = group.shape.bundles[static_cast<std::size_t>(in.index)];
  if (!bundle.resources.fits(key.spec.resources))
    throw infeasible_error(what + " could never run: it needs " + to_string(key.spec.resources) +
                           " of bundle " + std::to_string(in.index) + " of " + whose +
                           ", which has " + to_string(bundle.resources) +
                           "; ask for less, or make the bundle larger");
  if (!carries(bundle.labels, key.spec.labels))
    throw infeasible_error(what + " could never run: it needs labels " +
                           to_string(key.spec.labels) + ", but bundle " + std::to_string(in.index) +
                           " of " + whose + " is on a node chosen for " + to_string(bundle.labels) +
                           "; give the bundle these labels");
}

place machine::new_record(line_spec spec, job_id job, const std::string& what) {
  const place line = scheduler_.add_line(std::move(spec));
  if (line >= classes_.size()) classes_.resize(line + 1);
  const std::uint32_t generation = classes_[line].generation + 1;
  classes_[line] = {};
  classes_[line].live = true;
  classes_[line].generation = generation;
  classes_[line].job = job;
  classes_[line].what = what;
  return line;
}

void machine::forget_record(place line) {
  class_record& one = classes_[line];
  scheduler_.remove_line(line);
  if (one.group != nullptr) std::erase(one.group->bundles[one.bundle].classes, line);
  if (one.key != nullptr) class_places_.erase(*one.key);
  if (one.shape != nullptr) shape_places_.erase(*one.shape);
  one.live = false;
}

void machine::forget_if_unused(place cls) {
  const class_record& one = classes_[cls];
  if (!one.live || one.uses > 0) return;
  if (scheduler_.granted(cls) == 0 && scheduler_.missing(cls) <= 0) forget_record(cls);
}

/// A node goes: what tasks have there is void. (What actors have, `lose_actors` gives back.)
void machine::revoke_from(place node, effects& out) {
  for (place cls = 0; cls < classes_.size(); ++cls) {
    const class_record& one = classes_[cls];
    if (!one.live || one.key == nullptr || one.key->of_actors) continue;
    const place account = account_of(cls, node);
    if (account == nowhere) continue;
    const std::int64_t all = std::numeric_limits<std::int64_t>::max();
    const std::int64_t slots = scheduler_.release(cls, account, all, false);
    if (slots != 0) out.push_back(revoke{one.job, id_of(cls), nodes_[node].id, slots});
    forget_if_unused(cls);
  }
}

// What no node could ever satisfy. Whether that is an error, and so what to do, the job knows.

std::string machine::why_infeasible(const std::string& what, const std::string& wants) const {
  std::string text = what + " needs " + wants + ", which no node could ever satisfy: ";
  if (node_places_.empty()) {
    text += "there is no node";
  } else {
    request most;
    for (kind number = 0; number < names_.count(); ++number) {
      const place node = scheduler_.nodes().total.richest(number);
      const std::int64_t units = scheduler_.nodes().total.units(node, number);
      if (units != 0) most.push_back({number, units});
    }
    text += "the most that one node has of each is " + to_string(names_.resources_of(most));
  }
  return text;
}

std::string machine::wishes_of(const class_spec& spec) {
  std::string wants = to_string(spec.resources);
  if (!spec.labels.empty()) wants += " with labels " + to_string(spec.labels);
  if (const auto* named = std::get_if<on_node>(&spec.strategy); named != nullptr && !named->soft)
    wants += " on node " + to_string(named->node);
  return wants;
}

/// Whether that was said already of those who wait in the line, so that a new one is to be named
/// alone.
bool machine::known_infeasible(place line) const {
  return scheduler_.is_infeasible(line) &&
         std::ranges::find(scheduler_.infeasible, line) == scheduler_.infeasible.end();
}

void machine::report_infeasible(place line, effects& out) const {
  const class_record& one = classes_[line];
  for (const group_id id : one.groups) report_infeasible(line, id, out);
  for (const actor_id id : one.actors) report_infeasible(line, id, out);
  if (one.key != nullptr && !one.key->of_actors)
    out.push_back(
        infeasible{id_of(line), one.job, why_infeasible(one.what, wishes_of(one.key->spec))});
}

void machine::report_infeasible(place line, group_id id, effects& out) const {
  const shape_key& shape = groups_.at(id).shape;
  const std::size_t most = 8;
  std::string wants = std::to_string(shape.bundles.size()) +
                      (shape.bundles.size() == 1 ? " bundle" : " bundles") + " by strategy " +
                      std::string(to_string(shape.strategy)) + ":";
  for (std::size_t bundle = 0; bundle < std::min(most, shape.bundles.size()); ++bundle) {
    wants += ' ' + to_string(shape.bundles[bundle].resources);
    if (!shape.bundles[bundle].labels.empty())
      wants += " with labels " + to_string(shape.bundles[bundle].labels);
  }
  if (shape.bundles.size() > most) wants += " ...";
  out.push_back(infeasible{id, classes_[line].job,
                           why_infeasible("placement group " + to_string(id), wants)});
}

void machine::report_infeasible(place line, actor_id id, effects& out) const {
  out.push_back(infeasible{
      id, classes_[line].job,
      why_infeasible(describe(id, actors_.at(id)), wishes_of(classes_[line].key->spec))});
}

}  // namespace ray::detail::head
