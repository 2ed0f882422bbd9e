#include "world.hpp"

#include <limits>

using namespace ray;
using namespace ray::detail::head;
namespace head = ray::detail::head;
using testing::world;

TEST_CASE("a demand is granted as far as there is room, and the rest as slots come back") {
  world w;
  const auto n = w.node({4});
  const auto j = w.job();
  const auto two = w.cpus(j, 2);
  w.demand(two, 5);
  CHECK(w.granted(two, n) == 2);
  CHECK(w.machine.waiting(two) == 3);
  w.release(two, n);
  CHECK(w.granted(two) == 2);
  CHECK(w.machine.waiting(two) == 2);
  w.demand(two, 0);
  w.release(two, n);
  CHECK(w.granted(two) == 1);
  CHECK(w.machine.available_resources() == resource_set(2));
}

TEST_CASE("equal specs of a job are one class, and others are not") {
  world w;
  w.node({4});
  const auto j = w.job(), other = w.job();
  const class_spec spec{.resources = {1}};
  const auto cls = w.class_of(j, spec);
  CHECK(w.class_of(j, spec) == cls);
  CHECK(w.class_of(other, spec) != cls);
  CHECK(w.class_of(j, {.resources = {1}, .priority = 1}) != cls);
  CHECK(w.class_of(j, {.resources = {1}, .isolated = true}) != cls);
  CHECK(w.class_of(j, {.resources = {1}, .strategy = spread_out{}}) != cls);
}

TEST_CASE("a class that nobody uses is forgotten, and its id means no other") {
  world w;
  const auto n = w.node({4});
  const auto j = w.job();
  const auto cls = w.cpus(j, 1);
  (void)w.cpus(j, 1);
  w.demand(cls, 1);
  w.machine.drop_class(cls);
  w.machine.drop_class(cls);
  CHECK(inspector::lines(w.machine) == 1);  // it still has a slot
  w.release(cls, n);
  CHECK(inspector::lines(w.machine) == 0);
  const auto next = w.cpus(j, 2);
  CHECK(next.index == cls.index);
  CHECK(next != cls);
  w.demand(cls, 3);
  CHECK(w.cancelled.contains(cls));
  CHECK(w.granted(cls) == 0);
  w.apply(release{cls, n, 1});
  w.machine.drop_class(cls);
  CHECK(w.machine.granted(cls) == 0);
}

TEST_CASE("absurd requests are refused, and the message names the task") {
  world w;
  w.node({4});
  const auto j = w.job();
  const auto refused = [&](resource_set resources, const std::string& part) {
    try {
      (void)w.machine.class_of(j, {.resources = resources}, "task 'simulate'");
      FAIL("accepted");
    } catch (const usage_error& error) {
      const std::string text = error.what();
      CHECK_MESSAGE(text.find("task 'simulate'") != std::string::npos, text);
      CHECK_MESSAGE(text.find(part) != std::string::npos, text);
    }
  };
  refused({-1}, "num_cpus");
  refused({std::numeric_limits<double>::quiet_NaN()}, "num_cpus");
  refused({1, std::numeric_limits<double>::infinity()}, "num_gpus");
  refused({1, 0, 0, {{"disk", -1}}}, "disk");
  CHECK_THROWS_AS((void)w.class_of(testing::make_id<job_id>(99), {.resources = {1}}), usage_error);
  const auto cls = w.cpus(j, 1);
  CHECK_THROWS_AS(w.demand(cls, -1), usage_error);
  CHECK_THROWS_AS(w.keep(cls, -1), usage_error);
  CHECK_THROWS_AS(w.demand(cls, std::numeric_limits<std::int64_t>::max()), usage_error);
  CHECK_THROWS_AS(w.apply(add_node{.id = {}, .resources = {1}}), usage_error);
  CHECK_THROWS_AS(w.apply(add_node{.id = {1, 9}, .resources = {-1}}), usage_error);
  CHECK_THROWS_AS(w.apply(add_job{.id = {}}), usage_error);
  CHECK_THROWS_AS(w.apply(add_job{.id = {1, 9}, .name_space = ""}), usage_error);
  w.check_books();
  CHECK(inspector::lines(w.machine) == 1);
}

TEST_CASE("reports about what is gone are ignored, and nobody gives back more than he has") {
  world w;
  const auto n = w.node({4});
  const auto j = w.job();
  const auto cls = w.cpus(j, 1);
  w.demand(cls, 2);
  w.slots.clear();
  w.apply(release{cls, n, 100});
  CHECK(w.machine.available_resources() == resource_set(4));
  w.apply(release{cls, n, 1});
  w.apply(release{cls, testing::make_id<node_id>(77), 1});
  w.apply(release{cls, n, -5});
  w.apply(lend{cls, n, 1});
  w.apply(reclaim{cls, n, 1});
  w.apply(remove_node{testing::make_id<node_id>(77)});
  w.apply(end_job{testing::make_id<job_id>(77)});
  w.apply(remove_group{testing::make_id<group_id>(77)});
  w.apply(kill_actor{testing::make_id<actor_id>(77)});
  w.apply(actor_died{testing::make_id<actor_id>(77)});
  w.apply(actor_unreferenced{testing::make_id<actor_id>(77)});
  CHECK(w.machine.available_resources() == resource_set(4));
}

TEST_CASE("asking twice is asking once") {
  world w;
  const auto n = w.node({4});
  const auto j = w.job();
  w.apply(add_node{n, "again", {8}});
  w.apply(add_job{j, 5});
  CHECK(w.machine.total_resources() == resource_set(4));
  const auto g = w.group(j, {{.resources = {1}}});
  w.apply(create_group{g, j, {{.resources = {1}}}});
  CHECK(w.last.empty());
  const auto a = w.actor(j);
  w.apply(create_actor{.id = a, .job = j});
  CHECK(w.last.empty());
}

TEST_CASE("a task that needs nothing gets its slot at once, wherever least of its kind runs") {
  world w;
  const auto a = w.node({1}), b = w.node({1});
  const auto j = w.job();
  const auto cls = w.cpus(j, 0);
  w.demand(cls, 10);
  CHECK(w.granted(cls, a) == 5);
  CHECK(w.granted(cls, b) == 5);
  w.release(cls, a, 3);
  w.demand(cls, 2);
  CHECK(w.granted(cls, a) == 4);
}

TEST_CASE("the default fills the first node, spread goes around") {
  world w;
  const auto a = w.node({4}), b = w.node({4});
  const auto j = w.job();
  const auto packed = w.cpus(j, 1);
  w.demand(packed, 4);
  CHECK(w.granted(packed, a) == 4);
  w.release(packed, a, 4);
  const auto spread = w.class_of(j, {.resources = {1}, .strategy = spread_out{}});
  w.demand(spread, 4);
  CHECK(w.granted(spread, a) == 2);
  CHECK(w.granted(spread, b) == 2);
  w.release(spread, a, 2);
  w.release(spread, b, 2);
  for (int i = 0; i < 4; ++i) w.demand(spread, 1);
  CHECK(w.granted(spread, a) == 2);
  CHECK(w.granted(spread, b) == 2);
}

TEST_CASE("a task on a node waits for that node; a soft wish takes another") {
  world w;
  w.node({4});
  const auto b = w.node({1});
  const auto j = w.job();
  const auto hard = w.class_of(j, {.resources = {1}, .strategy = on_node{b}});
  const auto soft = w.class_of(j, {.resources = {1}, .strategy = on_node{b, true}});
  w.demand(soft, 1);
  CHECK(w.granted(soft, b) == 1);
  w.demand(soft, 2);
  CHECK(w.granted(soft) == 3);
  w.demand(hard, 1);
  CHECK(w.granted(hard) == 0);
  w.release(soft, b);
  CHECK(w.granted(hard, b) == 1);
}

TEST_CASE("labels say which nodes will do") {
  world w;
  w.node({8}, {{"zone", "a"}});
  const auto b = w.node({2}, {{"zone", "b"}, {"disk", "ssd"}});
  const auto j = w.job();
  const auto cls = w.class_of(j, {.resources = {1}, .labels = {{"zone", "b"}}});
  w.demand(cls, 3);
  CHECK(w.granted(cls, b) == 2);
  const auto c = w.node({2}, {{"zone", "b"}});
  CHECK(w.granted(cls, c) == 1);
  const auto free = w.class_of(j, {.labels = {{"disk", "ssd"}}});
  w.demand(free, 3);
  CHECK(w.granted(free, b) == 3);
}

TEST_CASE(
    "what no node could ever satisfy is said once, waits, and runs when a node joins that can") {
  world w;
  w.node({2}, {{"zone", "a"}});
  const auto j = w.job();
  const auto wide = w.machine.class_of(j, {.resources = {8, 0, 0, {{"disk", 1}}}}, "task 'wide'");
  w.demand(wide, 1);
  REQUIRE(w.warnings.size() == 1);
  CHECK(std::get<class_id>(w.warnings[0].what) == wide);
  CHECK(w.warnings[0].text.find("task 'wide' needs {CPU: 8, disk: 1}") == 0);
  CHECK(w.warnings[0].text.find("{CPU: 2}") != std::string::npos);
  CHECK(w.warnings[0].text.find("which no node could ever satisfy") != std::string::npos);
  w.demand(wide, 4);
  CHECK(w.warnings.size() == 1);
  const auto labelled = w.class_of(j, {.resources = {1}, .labels = {{"zone", "b"}}});
  w.demand(labelled, 1);
  CHECK(w.warnings.back().text.find("labels {zone: b}") != std::string::npos);
  const auto missing = w.class_of(j, {.strategy = on_node{testing::make_id<node_id>(9)}});
  w.demand(missing, 1);
  CHECK(w.warnings.back().text.find("on node") != std::string::npos);
  CHECK(w.warnings.size() == 3);
  w.node({4, 0, 0, {{"disk", 1}}});
  CHECK(w.granted(wide) == 0);
  const auto large = w.node({17, 0, 0, {{"disk", 2}}}, {{"zone", "b"}});
  CHECK(w.granted(wide, large) == 2);
  CHECK(w.granted(labelled, large) == 1);
  CHECK(w.machine.waiting(wide) == 2);
  CHECK(w.warnings.size() == 3);
  // Given up and asked for again, it is said again.
  w.demand(missing, 0);
  w.demand(missing, 1);
  CHECK(w.warnings.size() == 4);
  w.demand(missing, 1);
  CHECK(w.warnings.size() == 5);
}

TEST_CASE("without a node everything waits") {
  world w;
  const auto j = w.job();
  const auto cls = w.cpus(j, 1), nothing = w.cpus(j, 0);
  w.demand(cls, 1);
  w.demand(nothing, 1);
  CHECK(w.warnings.size() == 2);
  CHECK(w.warnings[0].text.find("there is no node") != std::string::npos);
  w.node({1});
  CHECK(w.granted(cls) == 1);
  CHECK(w.granted(nothing) == 1);
}

TEST_CASE("a task that blocks lends its CPU and takes it back over what there is") {
  world w;
  const auto n = w.node({1, 1});
  const auto j = w.job();
  const auto cls = w.class_of(j, {.resources = {1, 1}}), plain = w.cpus(j, 1);
  w.demand(cls, 1);
  w.demand(plain, 3);
  CHECK(w.granted(plain) == 0);
  w.apply(lend{cls, n});
  CHECK(w.granted(plain) == 1);  // the CPU, not the GPU
  CHECK(w.machine.available_resources() == resource_set{});
  w.apply(reclaim{cls, n});
  w.release(plain, n);  // makes it good: nobody gets it
  CHECK(w.granted(plain) == 0);
  w.release(cls, n);
  CHECK(w.granted(plain) == 1);
}

TEST_CASE("a slot that comes back while lent is no longer lent") {
  world w;
  const auto n = w.node({1});
  const auto j = w.job();
  const auto cls = w.cpus(j, 1);
  w.demand(cls, 1);
  w.apply(lend{cls, n});
  w.apply(lend{cls, n, 5});  // there is nothing more to lend
  w.demand(cls, 1);
  CHECK(w.granted(cls) == 2);
  w.release(cls, n);
  w.release(cls, n);
  CHECK(w.machine.available_resources() == resource_set(1));
}

TEST_CASE("a node that goes takes its slots along") {
  world w;
  const auto a = w.node({2}), b = w.node({2});
  const auto j = w.job();
  const auto cls = w.cpus(j, 1);
  w.demand(cls, 5);
  w.apply(lend{cls, a});
  CHECK(w.granted(cls) == 5);
  w.apply(remove_node{a, "it was switched off"});
  CHECK(w.granted(cls, a) == 0);
  CHECK(w.last_of<head::revoke>().front().slots == 3);
  w.apply(release{cls, a, 1});
  CHECK(w.granted(cls, b) == 2);
  w.demand(cls, 3);
  const auto again = w.node({2});
  CHECK(w.granted(cls, again) == 2);
  w.apply(remove_node{b});
  w.apply(remove_node{again});
  CHECK(w.machine.nodes().empty());
  CHECK(w.warnings.size() == 1);  // what waits, waits for a node
}

TEST_CASE("nodes and their resources can be listed") {
  world w;
  const auto n = w.node({4, 1, 1000, {{"disk", 2}}}, {{"zone", "a"}});
  const auto j = w.job();
  const auto tokens = w.cpus(j, 1);
  w.keep(tokens, 3);
  w.demand(w.class_of(j, {.resources = {0.5, 0, 100, {{"disk", 1}}}}), 1);
  const auto nodes = w.machine.nodes();
  REQUIRE(nodes.size() == 1);
  CHECK(nodes[0].id == n);
  CHECK(nodes[0].address == "node1");
  CHECK(nodes[0].labels == label_map{{"zone", "a"}});
  CHECK(nodes[0].resources == resource_set(4, 1, 1000, {{"disk", 2}}));
  CHECK(nodes[0].available == resource_set(0.5, 1, 900, {{"disk", 1}}));
  CHECK(nodes[0].standing == resource_set(3));
  CHECK(w.machine.total_resources() == nodes[0].resources);
  CHECK(w.machine.available_resources() == nodes[0].available);
}

TEST_CASE("inputs can be applied as they are stored") {
  machine it;
  effects out;
  const std::vector<input> inputs{add_job{{1, 1}}, add_node{{1, 1}, "here", {2}},
                                  create_actor{.id = {1, 1}, .job = {1, 1}}};
  for (const input& in : inputs) it.step(in, out);
  REQUIRE(out.size() == 1);
  CHECK(std::get<actor_placed>(out[0]).node == node_id{1, 1});
}
