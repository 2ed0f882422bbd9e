/// Nodes, jobs and tasks' slots; translating what the scheduler did; queries.
#include "head/machine.hpp"

#include <algorithm>
#include <utility>

namespace ray::detail::head {

// Nodes.

void machine::apply(const add_node& in, effects& out) {
  const std::string who = "node " + to_string(in.id) + " (" + in.address + ")";
  if (in.id == node_id{}) throw usage_error("a node cannot join without an id");
  if (const auto problem = in.resources.problem())
    throw usage_error(who + " cannot join: " + *problem);
  if (node_places_.contains(in.id)) return;
  place node = static_cast<place>(nodes_.size());
  if (free_nodes_.empty()) {
    nodes_.emplace_back();
  } else {
    node = free_nodes_.back();
    free_nodes_.pop_back();
  }
  nodes_[node] = {.live = true,
                  .id = in.id,
                  .address = in.address,
                  .labels = in.labels,
                  .total = names_.request_of(in.resources)};
  node_places_.emplace(in.id, node);
  scheduler_.add_node(node, nodes_[node].total);
  filter_node(node, true);
  scheduler_.look_again();
  carry_out(out);
}

void machine::apply(const remove_node& in, effects& out) {
  const place node = known_node(in.id);
  if (node == nowhere) return;
  revoke_from(node, out);
  const std::vector<actor_id> homeless = lose_actors(node, in.reason, out);
  const std::vector<group_id> incomplete = lose_bundles(node);
  filter_node(node, false);
  scheduler_.remove_node(node, nodes_[node].total);
  node_places_.erase(in.id);
  nodes_[node] = {};
  free_nodes_.push_back(node);
  scheduler_.find_infeasible();
  // Only now does what was lost there ask for places, and none of it finds the node that is gone.
  for (const group_id id : incomplete) wait_in_line(groups_.find(id), out);
  for (const actor_id id : homeless) queue_actor(actors_.find(id), out);
  carry_out(out);
}

place machine::known_node(node_id node) const {
  const auto known = node_places_.find(node);
  return known == node_places_.end() ? nowhere : known->second;
}

node_filter machine::nodes_with(const label_map& labels) const {
  node_filter filter;
  if (labels.empty()) return filter;
  filter.any = false;
  for (place node = 0; node < nodes_.size(); ++node)
    if (nodes_[node].live && carries(nodes_[node].labels, labels)) filter.insert(node);
  return filter;
}

/// Tells the lines that choose among nodes of one that has come or goes.
void machine::filter_node(place node, bool joined) {
  const node_record& it = nodes_[node];
  for (place line = 0; line < classes_.size(); ++line) {
    const class_record& one = classes_[line];
    if (!one.live) continue;
    if (one.key == nullptr) {
      scheduler_.change_bundle_filters(line, node, joined, it.labels);
      continue;
    }
    const auto* named = std::get_if<on_node>(&one.key->spec.strategy);
    const bool suits = carries(it.labels, one.key->spec.labels);
    if (named != nullptr && named->node == it.id && suits)
      scheduler_.prefer(line, joined ? node : nowhere);
    const bool is_hard = named != nullptr && !named->soft;
    if (is_hard ? named->node != it.id : one.key->spec.labels.empty()) continue;
    if (suits) scheduler_.change_filter(line, node, joined);
  }
}

// Jobs.

void machine::apply(const add_job& in, effects&) {
  if (in.id == job_id{}) throw usage_error("a job cannot begin without an id");
  if (in.name_space.empty())
    throw usage_error("job " + to_string(in.id) + " cannot begin: its name space is empty");
  if (jobs_.contains(in.id)) return;
  jobs_[in.id] = {.books = scheduler_.add_job(in.priority), .name_space = in.name_space};
}

void machine::apply(const end_job& in, effects& out) {
  const auto job = jobs_.find(in.id);
  if (job == jobs_.end() || job->second.ended) return;
  end_all_of(in.id, out);
  for (auto group = groups_.begin(); group != groups_.end();) {
    const auto next = std::next(group);
    if (group->second.job == in.id) remove_group_of(group, true, out);
    group = next;
  }
  for (place cls = 0; cls < classes_.size(); ++cls) {
    class_record& one = classes_[cls];
    if (!one.live || one.job != in.id || one.key == nullptr || one.key->of_actors) continue;
    scheduler_.withdraw(cls);
    forget_record(cls);
  }
  job->second.ended = true;
  finish_job(job);
  carry_out(out);
}

/// Its books close when its last detached actor has ended.
void machine::finish_job(std::map<job_id, job_record>::iterator job) {
  if (!job->second.ended || job->second.detached != 0) return;
  scheduler_.remove_job(job->second.books);
  jobs_.erase(job);
}

machine::job_record& machine::known_job(job_id job, const std::string& who) {
  const auto known = jobs_.find(job);
  if (known == jobs_.end() || known->second.ended)
    throw usage_error(who + " cannot be accepted: its job " + to_string(job) +
                      " is not running (it has ended, or never began)");
  return known->second;
}

// Slots.

/// The class, if it is one of tasks that may still state a demand. One that may not is told so.
place machine::task_class(class_id id, std::int64_t count, effects& out) const {
  constexpr std::int64_t most = 1'000'000'000'000'000;  // slots times units are not to overflow
  if (count < 0 || count > most)
    throw usage_error("a demand for " + std::to_string(count) +
                      " slots makes no sense; it has to be between 0 and " + std::to_string(most));
  const place cls = known_class(id);
  if (cls == nowhere || classes_[cls].cancelled) {
    if (count > 0)
      out.push_back(class_cancelled{cls == nowhere ? job_id{} : classes_[cls].job, id,
                                    "its placement group was removed, or its job has ended"});
    return nowhere;
  }
  if (classes_[cls].key->of_actors)
    throw usage_error(classes_[cls].what + " is an actor: its class takes no demand for tasks");
  return cls;
}

void machine::apply(const demand& in, effects& out) {
  const place cls = task_class(in.cls, in.waiting, out);
  if (cls == nowhere) return;
  if (scheduler_.is_standing(cls))
    throw usage_error(classes_[cls].what + " has a standing demand already");
  scheduler_.want(cls, in.waiting);
  carry_out(out);
  if (in.waiting == 0) forget_if_unused(cls);
}

void machine::apply(const standing& in, effects& out) {
  const place cls = task_class(in.cls, in.slots, out);
  if (cls == nowhere) return;
  scheduler_.want_standing(cls, in.slots);
  carry_out(out);
  if (in.slots == 0) forget_if_unused(cls);
}

void machine::apply(const release& in, effects& out) {
  const place cls = known_class(in.cls);
  const place account = cls == nowhere ? nowhere : account_of(cls, known_node(in.node));
  if (account == nowhere || classes_[cls].key->of_actors) return;
  scheduler_.release(cls, account, in.slots, in.idle);
  carry_out(out);
  forget_if_unused(cls);
}

void machine::apply(const lend& in, effects& out) {
  const place cls = known_class(in.cls);
  const place account = cls == nowhere ? nowhere : account_of(cls, known_node(in.node));
  if (account == nowhere) return;
  scheduler_.lend(cls, account, in.slots);
  carry_out(out);
}

void machine::apply(const reclaim& in, effects& out) {
  const place cls = known_class(in.cls);
  const place account = cls == nowhere ? nowhere : account_of(cls, known_node(in.node));
  if (account == nowhere) return;
  scheduler_.reclaim(cls, account, in.slots);
  carry_out(out);
}

void machine::step(const input& in, effects& out) {
  std::visit([&](const auto& one) { apply(one, out); }, in);
}

// What the scheduler did, as effects.

void machine::carry_out(effects& out) {
  scheduler_.settle();
  // Groups that have been placed open their bundles, where more may be placed.
  while (!scheduler_.placed.empty()) {
    placed_.swap(scheduler_.placed);
    for (const scheduler::placement& one : placed_) {
      const class_record& cls = classes_[one.line];
      switch (scheduler_.spec(one.line).kind) {
        case line_kind::tasks:
          out.push_back(grant{cls.job, id_of(one.line), nodes_[node_of(one.line, one.account)].id,
                              one.slots});
          break;
        case line_kind::actors:
          for (std::int64_t slot = 0; slot < one.slots; ++slot)
            placed_actor(one.line, node_of(one.line, one.account), out);
          break;
        case line_kind::groups:
          placed_group(one.line, one.nodes, out);
          break;
      }
    }
    placed_.clear();
    scheduler_.settle();
  }
  for (const scheduler::recall_change& one : scheduler_.recalls)
    out.push_back(recall{classes_[one.line].job, id_of(one.line),
                         nodes_[node_of(one.line, one.account)].id, one.slots, one.from_busy});
  scheduler_.recalls.clear();
  for (const place line : scheduler_.infeasible) report_infeasible(line, out);
  scheduler_.infeasible.clear();
}

place machine::account_of(place cls, place node) const {
  const class_record& one = classes_[cls];
  if (one.group == nullptr || node == nowhere) return node;
  const bundle_record& bundle = one.group->bundles[one.bundle];
  return bundle.node == node ? bundle.pool : nowhere;
}

place machine::node_of(place cls, place account) const {
  const class_record& one = classes_[cls];
  return one.group == nullptr ? account : one.group->bundles[one.bundle].node;
}

// Queries.

std::vector<node_view> machine::nodes() const {
  std::vector<request> standing_at(nodes_.size());
  for (place cls = 0; cls < classes_.size(); ++cls) {
    if (!classes_[cls].live || !scheduler_.is_standing(cls) || classes_[cls].group != nullptr)
      continue;
    for (const holding& of : scheduler_.holdings(cls))
      add_to(standing_at[of.account], scheduler_.spec(cls).need, of.slots - of.lent);
  }
  std::vector<std::pair<node_id, place>> by_id(node_places_.begin(), node_places_.end());
  std::ranges::sort(by_id);
  std::vector<node_view> views;
  for (const auto& [id, node] : by_id) {
    request free = scheduler_.held(node);
    for (kind number = 0; number < names_.count(); ++number)
      add_to(free, {{number, scheduler_.nodes().free.units(node, number)}});
    std::erase_if(free, [](const quantity& part) { return part.units < 0; });
    views.push_back({.id = id,
                     .address = nodes_[node].address,
                     .resources = names_.resources_of(nodes_[node].total),
                     .available = names_.resources_of(free),
                     .standing = names_.resources_of(standing_at[node]),
                     .labels = nodes_[node].labels});
  }
  return views;
}

resource_set machine::total_resources() const {
  resource_set sum;
  for (const node_record& node : nodes_) sum += names_.resources_of(node.total);
  return sum;
}

resource_set machine::available_resources() const {
  resource_set sum;
  for (const node_view& node : nodes()) sum += node.available;
  return sum;
}

std::int64_t machine::granted(class_id cls) const {
  const place known = known_class(cls);
  return known == nowhere ? 0 : scheduler_.granted(known);
}

std::int64_t machine::waiting(class_id cls) const {
  const place known = known_class(cls);
  return known == nowhere ? 0 : std::max<std::int64_t>(0, scheduler_.missing(known));
}

}  // namespace ray::detail::head
