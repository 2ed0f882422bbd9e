#include "head/planner.hpp"

#include <algorithm>
#include <numeric>

namespace ray::detail::head {

bool node_filter::accepts(place node) const {
  return any || std::ranges::binary_search(nodes, node);
}

void node_filter::insert(place node) {
  const auto at = std::ranges::lower_bound(nodes, node);
  if (at == nodes.end() || *at != node) nodes.insert(at, node);
}

void node_filter::erase(place node) {
  const auto at = std::ranges::lower_bound(nodes, node);
  if (at != nodes.end() && *at == node) nodes.erase(at);
}

group_shape::group_shape(std::vector<bundle_need> needs, group_strategy how)
    : bundles(std::move(needs)), strategy(how), order(bundles.size()) {
  for (const bundle_need& bundle : bundles) {
    add_to(sum, bundle.need);
    labelled = labelled || !bundle.labels.empty();
  }
  std::iota(order.begin(), order.end(), place{0});
  // What few nodes have counts more than what all have: custom kinds and GPUs before CPUs and
  // memory.
  const auto larger = [&](place left, place right) {
    const request& one = bundles[left].need;
    const request& other = bundles[right].need;
    const auto custom = [](const request& need) { return need.empty() ? 0 : need.back().what; };
    if (custom(one) > memory_kind || custom(other) > memory_kind)
      if (custom(one) != custom(other)) return custom(one) > custom(other);
    for (const kind what : {gpu_kind, cpu_kind, memory_kind})
      if (units_of(one, what) != units_of(other, what))
        return units_of(one, what) > units_of(other, what);
    return false;
  };
  std::ranges::stable_sort(order, larger);
}

planner::planner(capacity_table& table, const group_shape& shape, std::vector<place>& nodes)
    : table_(table), shape_(shape), nodes_(nodes) {
  for (const place bundle : shape.order)
    if (nodes[bundle] == nowhere) to_place_.push_back(bundle);
}

bool planner::quick(place start) {
  const bool whole = to_place_.size() == nodes_.size();
  if (whole && shape_.strategy == group_strategy::strict_pack) return on_one_node();
  if (whole && shape_.strategy == group_strategy::pack && on_one_node()) return true;
  return one_by_one(start);
}

bool planner::thorough(place start) {
  if (quick(start)) return true;
  switch (shape_.strategy) {
    case group_strategy::strict_pack:
      return false;
    case group_strategy::strict_spread:
      return by_matching();
    case group_strategy::pack:
    case group_strategy::spread:
      return enough_in_all() && keep_or_undo(by_trying(0));
  }
  return false;
}

bool planner::on_one_node() {
  for (place node = table_.find(shape_.sum); node != nowhere;
       node = table_.find(shape_.sum, node + 1)) {
    const bool accepted = std::ranges::all_of(
        shape_.bundles, [&](const bundle_need& bundle) { return bundle.where.accepts(node); });
    if (!accepted) continue;
    std::ranges::fill(nodes_, node);
    return true;
  }
  return false;
}

bool planner::one_by_one(place start) {
  const bool apart =
      shape_.strategy == group_strategy::spread || shape_.strategy == group_strategy::strict_spread;
  for (const place index : to_place_) {
    const bundle_need& bundle = shape_.bundles[index];
    place node = apart ? first_unused(bundle, start) : first_used(bundle);
    if (node == nowhere && shape_.strategy == group_strategy::spread) node = first_used(bundle);
    if (node == nowhere && !apart) node = next_fit(bundle, 0);
    if (node == nowhere) return keep_or_undo(false);
    put(index, node);
    if (apart) start = node + 1;
  }
  return keep_or_undo(true);
}

/// Kuhn's algorithm: every bundle takes a node, and one that finds only taken nodes has another
/// move to a node that is free.
bool planner::by_matching() {
  std::vector<place> bundle_on;  // by node
  std::vector<bool> fixed(table_.width(), false);
  for (const place node : nodes_)
    if (node != nowhere) fixed[node] = true;
  for (const place index : to_place_) {
    std::vector<bool> seen = fixed;
    if (!augment(index, bundle_on, seen)) return false;
  }
  for (place node = 0; node < bundle_on.size(); ++node)
    if (bundle_on[node] != nowhere) nodes_[bundle_on[node]] = node;
  return true;
}

bool planner::augment(place index, std::vector<place>& bundle_on, std::vector<bool>& seen) {
  const bundle_need& bundle = shape_.bundles[index];
  for (place node = next_fit(bundle, 0); node != nowhere; node = next_fit(bundle, node + 1)) {
    if (node >= bundle_on.size()) bundle_on.resize(node + 1, nowhere);
    if (seen[node]) continue;
    seen[node] = true;
    if (bundle_on[node] != nowhere && !augment(bundle_on[node], bundle_on, seen)) continue;
    bundle_on[node] = index;
    return true;
  }
  return false;
}

bool planner::by_trying(std::size_t depth) {
  if (depth == to_place_.size()) return true;
  const place index = to_place_[depth];
  const bundle_need& bundle = shape_.bundles[index];
  std::vector<place> tried;
  for (place node = next_fit(bundle, 0); node != nowhere; node = next_fit(bundle, node + 1)) {
    if (budget_ == 0) return false;
    --budget_;
    // Of nodes that have the same left, one stands for all, unless labels tell them apart.
    const auto repeats = [&](place other) { return alike(node, other); };
    if (!shape_.labelled && std::ranges::any_of(tried, repeats)) continue;
    put(index, node);
    if (by_trying(depth + 1)) return true;
    take_back(index);
    if (tried.size() < 8) tried.push_back(node);
  }
  return false;
}

/// Whether all nodes together would do, which a plan needs whatever the strategy.
bool planner::enough_in_all() const {
  request missing;
  for (const place index : to_place_) add_to(missing, shape_.bundles[index].need);
  return std::ranges::all_of(missing, [&](const quantity& part) {
    std::int64_t sum = 0;
    for (place node = 0; node < table_.width() && sum < part.units; ++node)
      sum += std::max<std::int64_t>(0, table_.units(node, part.what));
    return sum >= part.units;
  });
}

bool planner::used(place node) const { return std::ranges::find(nodes_, node) != nodes_.end(); }

place planner::first_used(const bundle_need& bundle) const {
  for (const place node : nodes_)
    if (node != nowhere && bundle.where.accepts(node) && table_.fits(node, bundle.need))
      return node;
  return nowhere;
}

place planner::first_unused(const bundle_need& bundle, place start) const {
  for (place node = next_fit(bundle, start); node != nowhere; node = next_fit(bundle, node + 1))
    if (!used(node)) return node;
  for (place node = next_fit(bundle, 0); node < start; node = next_fit(bundle, node + 1))
    if (!used(node)) return node;
  return nowhere;
}

place planner::next_fit(const bundle_need& bundle, place from) const {
  if (bundle.where.any) return table_.find(bundle.need, from);
  for (auto at = std::ranges::lower_bound(bundle.where.nodes, from); at != bundle.where.nodes.end();
       ++at)
    if (table_.fits(*at, bundle.need)) return *at;
  return nowhere;
}

bool planner::alike(place one, place other) const {
  return std::ranges::all_of(shape_.sum, [&](const quantity& part) {
    return table_.units(one, part.what) == table_.units(other, part.what);
  });
}

void planner::put(place bundle, place node) {
  table_.add(node, shape_.bundles[bundle].need, -1);
  nodes_[bundle] = node;
}

void planner::take_back(place bundle) {
  table_.add(nodes_[bundle], shape_.bundles[bundle].need, 1);
  nodes_[bundle] = nowhere;
}

bool planner::keep_or_undo(bool found) {
  for (const place bundle : to_place_) {
    if (nodes_[bundle] == nowhere) continue;
    table_.add(nodes_[bundle], shape_.bundles[bundle].need, 1);
    if (!found) nodes_[bundle] = nowhere;
  }
  return found;
}

}  // namespace ray::detail::head
