#include "world.hpp"

using namespace ray;
using namespace ray::detail::head;
namespace head = ray::detail::head;
using testing::world;

namespace {

std::vector<bundle_spec> bundles_of(std::vector<resource_set> resources) {
  std::vector<bundle_spec> bundles;
  for (auto& one : resources) bundles.push_back({std::move(one), {}});
  return bundles;
}

}  // namespace

TEST_CASE("a group has all of its bundles or none") {
  world w;
  const auto a = w.node({4}), b = w.node({4});
  const auto j = w.job();
  const auto cls = w.cpus(j, 1);
  w.demand(cls, 3);
  const auto g = w.group(j, bundles_of({{4}, {4}}));
  CHECK_FALSE(w.is_ready(g));
  CHECK(w.machine.find_group(g)->nodes == std::vector<node_id>(2));
  CHECK(w.machine.available_resources() == resource_set(5));
  w.demand(cls, 5);
  CHECK(w.granted(cls) == 3);  // what is free is held
  for (int i = 0; i < 3; ++i) w.release(cls, a);
  REQUIRE(w.is_ready(g));
  CHECK(w.ready[g] == std::vector<node_id>{a, b});
  CHECK(w.granted(cls) == 0);
  CHECK(w.machine.find_group(g)->ready);
  w.apply(remove_group{g});
  CHECK(w.granted(cls) == 5);
  CHECK_FALSE(w.machine.find_group(g));
  CHECK(w.machine.groups().empty());
}

TEST_CASE("two groups that want the same never hold half each") {
  world w;
  const auto a = w.node({2}), b = w.node({2});
  const auto j = w.job();
  const auto on_a = w.class_of(j, {.resources = {1}, .strategy = on_node{a}});
  const auto on_b = w.class_of(j, {.resources = {1}, .strategy = on_node{b}});
  w.demand(on_a, 2);
  w.demand(on_b, 2);
  const auto first = w.group(j, bundles_of({{2}, {2}}), group_strategy::strict_spread);
  const auto second = w.group(j, bundles_of({{2}, {2}}), group_strategy::spread);
  const auto third = w.group(j, bundles_of({{1}, {2}}), group_strategy::pack);
  w.release(on_a, a, 2);
  CHECK(w.ready.empty());
  w.release(on_b, b, 2);
  CHECK(w.is_ready(first));
  CHECK(w.ready.size() == 1);
  w.apply(remove_group{first});
  CHECK(w.ready.size() == 1);
  CHECK(w.is_ready(second));
  w.apply(remove_group{second});
  CHECK(w.is_ready(third));
}

TEST_CASE("strategies decide about nodes") {
  world w;
  const auto a = w.node({6}), b = w.node({6}), c = w.node({6});
  const auto j = w.job();
  const auto nodes_of = [&](group_id g) {
    return std::set<node_id>(w.ready[g].begin(), w.ready[g].end());
  };
  const auto packed = w.group(j, bundles_of({{1}, {1}, {1}}));
  CHECK(nodes_of(packed) == std::set{a});
  const auto tight = w.group(j, bundles_of({{2}, {2}}), group_strategy::strict_pack);
  CHECK(nodes_of(tight).size() == 1);
  const auto spread = w.group(j, bundles_of({{1}, {1}}), group_strategy::spread);
  CHECK(nodes_of(spread).size() == 2);
  const auto apart = w.group(j, bundles_of({{1}, {1}}), group_strategy::strict_spread);
  CHECK(nodes_of(apart).size() == 2);
  (void)b;
  (void)c;
}

TEST_CASE("bundles can ask for labels") {
  world w;
  w.node({4}, {{"zone", "a"}});
  const auto j = w.job();
  const auto g = w.group(j, {{{1}, {{"zone", "b"}}}, {{1}, {}}});
  CHECK_FALSE(w.is_ready(g));
  REQUIRE(w.warnings.size() == 1);
  CHECK(w.warnings[0].text.find("zone: b") != std::string::npos);
  const auto b = w.node({4}, {{"zone", "b"}});
  REQUIRE(w.is_ready(g));
  CHECK(w.ready[g][0] == b);
}

TEST_CASE("tasks of a bundle draw from it and from nothing else") {
  world w;
  const auto n = w.node({4, 1});
  const auto j = w.job();
  const auto g = w.group(j, bundles_of({{2, 1}}));
  const auto inside = w.class_of(j, {.resources = {1}, .strategy = in_bundle{g, 0}});
  const auto gpu = w.class_of(j, {.resources = {0, 0.5}, .strategy = in_bundle{g, 0}});
  const auto outside = w.cpus(j, 1);
  w.demand(inside, 5);
  w.demand(outside, 5);
  CHECK(w.granted(inside, n) == 2);
  CHECK(w.granted(outside, n) == 2);
  w.demand(gpu, 3);
  CHECK(w.granted(gpu, n) == 2);
  w.release(outside, n);
  CHECK(w.granted(inside) == 2);
  w.release(inside, n);
  CHECK(w.granted(inside) == 2);
  CHECK(w.granted(outside) == 2);
  w.apply(lend{inside, n});
  CHECK(w.granted(inside) == 3);  // lent inside the bundle
  w.apply(reclaim{inside, n});
  w.release(inside, n);
  CHECK(w.granted(inside) == 2);
}

TEST_CASE("tasks of a bundle wait for the group") {
  world w;
  const auto n = w.node({2});
  const auto j = w.job();
  const auto busy = w.cpus(j, 2);
  w.demand(busy, 1);
  const auto g = w.group(j, bundles_of({{1}, {1}}));
  const auto task = w.class_of(j, {.resources = {1}, .strategy = in_bundle{g, 1}});
  const auto weightless = w.class_of(j, {.strategy = in_bundle{g, 1}});
  const auto a = w.actor(j, {.resources = {1}, .strategy = in_bundle{g, 0}});
  w.demand(task, 2);
  w.demand(weightless, 7);
  CHECK(w.granted(weightless) == 0);
  w.release(busy, n);
  CHECK(w.is_ready(g));
  CHECK(w.granted(task) == 1);
  CHECK(w.granted(weightless) == 7);
  CHECK(w.is_running(a));
  // Effects come in an order that makes sense.
  CHECK(std::holds_alternative<group_ready>(w.last.front()));
}

TEST_CASE("inside a bundle wide tasks are not starved either") {
  world w;
  const auto n = w.node({4});
  const auto j = w.job();
  const auto g = w.group(j, bundles_of({{4}}));
  const auto narrow = w.class_of(j, {.resources = {1}, .strategy = in_bundle{g, 0}});
  const auto wide = w.class_of(j, {.resources = {4}, .strategy = in_bundle{g, 0}});
  w.demand(narrow, 100);
  w.demand(wide, 1);
  for (int i = 0; i < 4; ++i) w.release(narrow, n);
  CHECK(w.granted(wide) == 1);
  const auto urgent = w.class_of(j, {.resources = {1}, .strategy = in_bundle{g, 0}, .priority = 1});
  w.demand(urgent, 1);
  w.release(wide, n);
  CHECK(w.granted(urgent) == 1);
  CHECK(w.granted(narrow) == 3);
}

TEST_CASE("what a bundle never has is refused at once") {
  world w;
  w.node({4});
  const auto j = w.job(), other = w.job();
  const auto g = w.group(j, bundles_of({{1}, {2}}));
  const auto ask = [&](class_spec spec, job_id job) {
    return [&w, spec, job] { (void)w.machine.class_of(job, spec, "task 'f'"); };
  };
  CHECK_THROWS_AS(ask({.resources = {1}, .strategy = in_bundle{g, 2}}, j)(), usage_error);
  CHECK_THROWS_AS(ask({.resources = {1}, .strategy = in_bundle{g, -1}}, j)(), usage_error);
  CHECK_THROWS_AS(ask({.resources = {2}, .strategy = in_bundle{g, 0}}, j)(), infeasible_error);
  CHECK_THROWS_AS(ask({.resources = {0, 1}, .strategy = in_bundle{g, 0}}, j)(), infeasible_error);
  CHECK_THROWS_AS(
      ask({.resources = {1}, .labels = {{"zone", "a"}}, .strategy = in_bundle{g, 0}}, j)(),
      infeasible_error);
  CHECK_THROWS_AS(ask({.resources = {1}, .strategy = in_bundle{g, 0}}, other)(), usage_error);
  CHECK_THROWS_AS(ask({.strategy = in_bundle{testing::make_id<group_id>(9), 0}}, j)(), usage_error);
  try {
    ask({.resources = {2}, .strategy = in_bundle{g, 0}}, j)();
  } catch (const infeasible_error& error) {
    const std::string text = error.what();
    CHECK(text.find("task 'f'") != std::string::npos);
    CHECK(text.find(to_string(g)) != std::string::npos);
    CHECK(text.find("{CPU: 1}") != std::string::npos);
  }
  CHECK_THROWS_AS(w.actor(j, {.resources = {3}, .strategy = in_bundle{g, 1}}), infeasible_error);
  w.check_books();
}

TEST_CASE("absurd groups are refused") {
  world w;
  w.node({4});
  const auto j = w.job();
  CHECK_THROWS_AS(w.group(j, {}), usage_error);
  CHECK_THROWS_AS(w.group(j, bundles_of({{1}, {0}})), usage_error);
  CHECK_THROWS_AS(w.group(j, bundles_of({{-1}})), usage_error);
  CHECK_THROWS_AS(w.group(j, std::vector<bundle_spec>(5000, {{1}, {}})), usage_error);
  CHECK_THROWS_AS(w.group(testing::make_id<job_id>(9), bundles_of({{1}})), usage_error);
  CHECK_THROWS_AS(w.apply(create_group{{}, j, bundles_of({{1}})}), usage_error);
  CHECK(w.machine.groups().empty());
  CHECK(inspector::pools(w.machine) == 1);
}

TEST_CASE("a group that can never be is said so, and is made when nodes join") {
  world w;
  w.node({2});
  const auto j = w.job();
  const auto apart = w.group(j, bundles_of({{1}, {1}}), group_strategy::strict_spread);
  const auto tight = w.group(j, bundles_of({{2}, {2}}), group_strategy::strict_pack);
  REQUIRE(w.warnings.size() == 2);
  CHECK(std::get<group_id>(w.warnings[0].what) == apart);
  CHECK(w.warnings[0].text.find("2 bundles by strategy strict_spread: {CPU: 1} {CPU: 1}") !=
        std::string::npos);
  const auto like_it = w.group(j, bundles_of({{1}, {1}}), group_strategy::strict_spread);
  REQUIRE(w.warnings.size() == 3);
  CHECK(std::get<group_id>(w.warnings[2].what) == like_it);
  w.node({2});
  CHECK(w.is_ready(apart));
  CHECK(w.is_ready(like_it));
  CHECK_FALSE(w.is_ready(tight));
  w.node({4});
  CHECK(w.is_ready(tight));
}

TEST_CASE("removing a group ends what was in it and gives back what is free at once") {
  world w;
  const auto n = w.node({4});
  const auto j = w.job();
  const auto g = w.group(j, bundles_of({{3}}));
  const class_spec spec{.resources = {1}, .strategy = in_bundle{g, 0}};
  const auto task = w.class_of(j, spec);
  const auto a = w.actor(j, spec), b = w.actor(j, spec), c = w.actor(j, spec);
  w.demand(task, 2);
  CHECK(w.granted(task) == 0);
  w.apply(kill_actor{a});
  w.died(a);
  CHECK(w.granted(task) == 1);
  w.apply(remove_group{g});
  CHECK(w.cancelled.contains(task));
  CHECK(w.has_ended(b));
  CHECK(w.to_stop == std::set{b, c});
  CHECK(w.ended[b].find("was removed") != std::string::npos);
  CHECK(w.machine.available_resources() == resource_set(1));  // the others still run
  w.release(task, n);
  CHECK(w.machine.available_resources() == resource_set(2));
  w.died(b);
  w.died(c);
  CHECK(w.machine.available_resources() == resource_set(4));
  CHECK_THROWS_AS((void)w.class_of(j, spec), usage_error);
  w.cancelled.clear();
  w.demand(task, 1);
  CHECK(w.cancelled.contains(task));
  w.machine.drop_class(task);
  CHECK(inspector::lines(w.machine) == 0);
  CHECK(inspector::pools(w.machine) == 1);
}

TEST_CASE("a blocked task of a removed group takes its CPU back from the node") {
  world w;
  const auto n = w.node({2});
  const auto j = w.job();
  const auto g = w.group(j, bundles_of({{1}}));
  const auto task = w.class_of(j, {.resources = {1}, .strategy = in_bundle{g, 0}});
  const auto plain = w.cpus(j, 1);
  w.demand(task, 1);
  w.apply(lend{task, n});
  w.demand(plain, 5);
  CHECK(w.granted(plain) == 1);
  w.apply(remove_group{g});
  CHECK(w.granted(plain) == 2);
  w.apply(reclaim{task, n});
  w.release(plain, n);
  CHECK(w.granted(plain) == 1);
  w.release(task, n);
  CHECK(w.granted(plain) == 2);
}

TEST_CASE("a group that waits can be removed") {
  world w;
  const auto n = w.node({2});
  const auto j = w.job();
  const auto busy = w.cpus(j, 1);
  w.demand(busy, 1);
  const auto first = w.group(j, bundles_of({{2}})), second = w.group(j, bundles_of({{2}}));
  const auto task = w.class_of(j, {.resources = {1}, .strategy = in_bundle{first, 0}});
  w.demand(task, 1);
  w.apply(remove_group{first});
  CHECK(w.cancelled.contains(task));
  w.release(busy, n);
  CHECK(w.is_ready(second));
  CHECK_FALSE(w.is_ready(first));
  const auto third = w.group(j, bundles_of({{9}}));
  w.apply(remove_group{third});
  CHECK(w.machine.groups().size() == 1);
}

TEST_CASE("bundles lost with a node are reserved anew, the others stay") {
  world w;
  const auto a = w.node({2}), b = w.node({2});
  const auto j = w.job();
  const auto g = w.group(j, bundles_of({{2}, {2}}), group_strategy::strict_spread);
  REQUIRE(w.ready[g] == std::vector{a, b});
  const auto kept = w.class_of(j, {.resources = {1}, .strategy = in_bundle{g, 0}});
  const auto lost = w.class_of(j, {.resources = {1}, .strategy = in_bundle{g, 1}});
  const auto actor = w.actor(
      {.job = j, .spec = {.resources = {1}, .strategy = in_bundle{g, 1}}, .max_restarts = 1});
  w.demand(kept, 3);
  w.demand(lost, 1);
  w.ready.clear();
  w.running.clear();
  w.apply(remove_node{b});
  CHECK(w.granted(kept, a) == 2);
  CHECK(w.granted(lost) == 0);
  CHECK_FALSE(w.machine.find_group(g)->ready);
  CHECK(w.machine.find_group(g)->nodes == std::vector{a, node_id{}});
  w.demand(lost, 3);
  const auto c = w.node({1});
  CHECK_FALSE(w.is_ready(g));
  const auto d = w.node({2});
  REQUIRE(w.is_ready(g));
  CHECK(w.ready[g] == std::vector{a, d});
  CHECK(w.granted(lost, d) + (w.is_running(actor) ? 1 : 0) == 2);
  w.apply(remove_group{g});
  CHECK(w.machine.groups().empty());
  (void)c;
}

TEST_CASE("a group in repair can lose more, and can be removed") {
  world w;
  const auto a = w.node({1}), b = w.node({1}), c = w.node({1});
  const auto j = w.job();
  const auto g = w.group(j, bundles_of({{1}, {1}, {1}}), group_strategy::strict_spread);
  w.apply(remove_node{a});
  w.apply(remove_node{c});
  CHECK(w.warnings.size() == 2);
  CHECK(w.machine.find_group(g)->nodes == std::vector{node_id{}, b, node_id{}});
  w.node({1});
  w.ready.clear();
  w.node({1});
  CHECK(w.is_ready(g));
  w.apply(remove_node{b});
  w.apply(remove_group{g});
  CHECK(inspector::lines(w.machine) == 0);
}

TEST_CASE("groups take what was asked back from a standing demand") {
  world w;
  const auto a = w.node({2}), b = w.node({2});
  const auto j = w.job();
  const auto tokens_a = w.class_of(j, {.resources = {1}, .strategy = on_node{a}});
  const auto tokens_b = w.class_of(j, {.resources = {1}, .strategy = on_node{b}});
  w.keep(tokens_a, 2);
  w.keep(tokens_b, 2);
  const auto g = w.group(j, bundles_of({{1}, {2}}), group_strategy::strict_spread);
  CHECK(w.asked_back(tokens_a) + w.asked_back(tokens_b) == 3);
  while (!w.recalled.empty()) {
    const auto [cls, node] = w.recalled.begin()->first;
    w.release(cls, node);
  }
  CHECK(w.is_ready(g));
  w.apply(remove_group{g});
  CHECK(w.granted(tokens_a) == 2);
  CHECK(w.granted(tokens_b) == 2);
}
