/// Finds a node for each bundle of a placement group, all or none.
///
/// A quick plan puts the bundles, largest first, where they fit first, in the order that the
/// strategy asks for. A thorough one that the quick way misses is searched for: with an
/// augmenting-path matching where each bundle wants a node of its own (exact), else by trying,
/// within a budget (fitting boxes into bins has no cheap exact answer). The table is as before when
/// a plan returns.
#pragma once

#include "head/capacity.hpp"
#include "head/messages.hpp"

#include <vector>

namespace ray::detail::head {

/// Nodes by their labels: `any`, or those listed, in order.
struct node_filter {
  bool any = true;
  std::vector<place> nodes = {};

  [[nodiscard]] bool accepts(place node) const;
  void insert(place node);
  void erase(place node);
};

struct bundle_need {
  request need;
  label_map labels;
  node_filter where;
};

/// What groups that are alike ask for.
struct group_shape {
  group_shape(std::vector<bundle_need> bundles, group_strategy strategy);

  std::vector<bundle_need> bundles;
  group_strategy strategy;
  std::vector<place> order;  // of the bundles, largest first
  request sum;
  bool labelled = false;  // some bundle does not take every node
};

/// One search for a plan in one table of what the nodes have.
class planner {
 public:
  /// `nodes` has a node for every bundle that has its place already (which the table must have been
  /// told of), and `nowhere` for those to be placed.
  planner(capacity_table& table, const group_shape& shape, std::vector<place>& nodes);

  /// Both leave `nodes` complete and return true, or leave it as it was and return false. A
  /// `spread` begins at node `start`.
  [[nodiscard]] bool quick(place start = 0);
  [[nodiscard]] bool thorough(place start = 0);

 private:
  [[nodiscard]] bool on_one_node();
  [[nodiscard]] bool one_by_one(place start);
  [[nodiscard]] bool by_matching();
  [[nodiscard]] bool by_trying(std::size_t depth);
  [[nodiscard]] bool augment(place bundle, std::vector<place>& bundle_on, std::vector<bool>& seen);
  [[nodiscard]] bool enough_in_all() const;

  [[nodiscard]] bool used(place node) const;
  [[nodiscard]] place first_used(const bundle_need& bundle) const;
  [[nodiscard]] place first_unused(const bundle_need& bundle, place start) const;
  [[nodiscard]] place next_fit(const bundle_need& bundle, place from) const;
  [[nodiscard]] bool alike(place one, place other) const;

  void put(place bundle, place node);
  void take_back(place bundle);
  bool keep_or_undo(bool found);

  capacity_table& table_;
  const group_shape& shape_;
  std::vector<place>& nodes_;
  std::vector<place> to_place_;  // in the shape's order
  std::size_t budget_ = 2000;    // tries: some ten microseconds
};

}  // namespace ray::detail::head
