#include "head/planner.hpp"

#include <doctest/doctest.h>

#include <random>
#include <set>
#include <vector>

using namespace ray::detail::head;

namespace {

capacity_table cpus(std::vector<std::int64_t> nodes) {
  capacity_table table;
  for (place node = 0; node < nodes.size(); ++node)
    if (nodes[node] != 0) table.add(node, {{cpu_kind, nodes[node]}}, 1);
  return table;
}

group_shape shape_of(std::vector<std::int64_t> bundles, group_strategy strategy) {
  std::vector<bundle_need> needs;
  for (const std::int64_t units : bundles) needs.push_back({{{cpu_kind, units}}, {}, {}});
  return {needs, strategy};
}

std::vector<place> nobody(const group_shape& shape) {
  return std::vector<place>(shape.bundles.size(), nowhere);
}

/// Whether there is any plan at all, by trying all of them.
bool possible(const std::vector<std::int64_t>& nodes, const std::vector<std::int64_t>& bundles,
              group_strategy strategy) {
  std::vector<std::size_t> on(bundles.size(), 0);
  while (true) {
    std::vector<std::int64_t> left = nodes;
    for (std::size_t i = 0; i < bundles.size(); ++i) left[on[i]] -= bundles[i];
    bool good = true;
    for (const auto units : left) good = good && units >= 0;
    const std::set<std::size_t> used(on.begin(), on.end());
    if (strategy == group_strategy::strict_pack) good = good && used.size() == 1;
    if (strategy == group_strategy::strict_spread) good = good && used.size() == on.size();
    if (good) return true;
    std::size_t digit = 0;
    while (digit < on.size() && ++on[digit] == nodes.size()) on[digit++] = 0;
    if (digit == on.size()) return false;
  }
}

}  // namespace

TEST_CASE("pack prefers one node, then few") {
  capacity_table table = cpus({3, 4, 8});
  const group_shape small = shape_of({2, 2}, group_strategy::pack);
  auto nodes = nobody(small);
  REQUIRE(planner(table, small, nodes).quick());
  CHECK(nodes == std::vector<place>{1, 1});
  const group_shape large = shape_of({4, 4, 3}, group_strategy::pack);
  nodes = nobody(large);
  REQUIRE(planner(table, large, nodes).quick());
  CHECK(nodes == std::vector<place>{1, 2, 2});
  CHECK(table.units(2, cpu_kind) == 8);  // as before
}

TEST_CASE("spread prefers different nodes, and does with fewer") {
  capacity_table table = cpus({4, 4, 1});
  const group_shape shape = shape_of({2, 2, 2}, group_strategy::spread);
  auto nodes = nobody(shape);
  REQUIRE(planner(table, shape, nodes).quick());
  CHECK(std::set<place>(nodes.begin(), nodes.end()).size() == 2);
  auto later = nobody(shape);
  REQUIRE(planner(table, shape, later).quick(1));
  CHECK(later.front() == 1);
}

TEST_CASE("the strict strategies refuse what the others do") {
  capacity_table table = cpus({4, 4});
  auto nodes = std::vector<place>(3, nowhere);
  CHECK_FALSE(planner(table, shape_of({2, 2, 2}, group_strategy::strict_pack), nodes).thorough());
  CHECK_FALSE(planner(table, shape_of({1, 1, 1}, group_strategy::strict_spread), nodes).thorough());
  CHECK(nodes == std::vector<place>(3, nowhere));
  nodes.resize(2);
  CHECK(planner(table, shape_of({2, 2}, group_strategy::strict_pack), nodes).quick());
  CHECK(nodes == std::vector<place>{0, 0});
}

TEST_CASE("labels restrict where a bundle goes") {
  capacity_table table = cpus({4, 4, 4});
  std::vector<bundle_need> needs{{{{cpu_kind, 1}}, {{"zone", "b"}}, {.any = false, .nodes = {2}}},
                                 {{{cpu_kind, 1}}, {}, {}}};
  group_shape shape(needs, group_strategy::strict_pack);
  auto nodes = nobody(shape);
  REQUIRE(planner(table, shape, nodes).quick());
  CHECK(nodes == std::vector<place>{2, 2});
  shape.bundles[0].where.nodes.clear();
  nodes = nobody(shape);
  CHECK_FALSE(planner(table, shape, nodes).thorough());
}

TEST_CASE("bundles that have a node keep it") {
  capacity_table table = cpus({4, 2, 4});  // what node 0 has left beside bundle 0
  const group_shape shape = shape_of({2, 2}, group_strategy::strict_spread);
  std::vector<place> nodes{0, nowhere};
  REQUIRE(planner(table, shape, nodes).thorough());
  CHECK(nodes == std::vector<place>{0, 1});
}

TEST_CASE("a matching is found where the first choices collide") {
  // The larger bundle is placed first and takes the node that the other needs; they differ in
  // kinds.
  capacity_table table;
  table.add(0, {{cpu_kind, 4}, {gpu_kind, 1}}, 1);
  table.add(1, {{cpu_kind, 4}}, 1);
  const group_shape shape({{{{cpu_kind, 4}}, {}, {}}, {{{cpu_kind, 1}, {gpu_kind, 1}}, {}, {}}},
                          group_strategy::strict_spread);
  auto nodes = nobody(shape);
  CHECK(planner(table, shape, nodes).thorough());
}

TEST_CASE("thorough plans exist exactly where there is one, for small groups") {
  std::mt19937 random(11);
  int found = 0, missed_by_quick = 0;
  for (int round = 0; round < 4000; ++round) {
    std::vector<std::int64_t> free(1 + random() % 4);
    for (auto& units : free) units = static_cast<std::int64_t>(random() % 11);
    std::vector<std::int64_t> bundles(1 + random() % 5);
    for (auto& units : bundles) units = static_cast<std::int64_t>(1 + random() % 6);
    const auto strategy = static_cast<group_strategy>(random() % 4);
    const group_shape shape = shape_of(bundles, strategy);
    capacity_table table = cpus(free);
    auto nodes = nobody(shape);
    const bool quick = planner(table, shape, nodes).quick();
    nodes = nobody(shape);
    const bool thorough = planner(table, shape, nodes).thorough();
    REQUIRE(thorough == possible(free, bundles, strategy));
    if (quick) REQUIRE(thorough);
    found += thorough ? 1 : 0;
    missed_by_quick += thorough && !quick ? 1 : 0;
    if (!thorough) continue;
    std::vector<std::int64_t> left = free;
    for (std::size_t i = 0; i < bundles.size(); ++i) left[nodes[i]] -= bundles[i];
    for (place node = 0; node < free.size(); ++node) {
      REQUIRE(left[node] >= 0);
      REQUIRE(table.units(node, cpu_kind) == free[node]);
    }
  }
  CHECK(found > 500);
  CHECK(missed_by_quick > 0);
}
