// Placement groups: reserved whole or not at all, used by tasks and actors, given back once.
#include "testing.hpp"

#include <chrono>
#include <latch>
#include <string>
#include <vector>

namespace {

using namespace std::chrono_literals;
using programs::await_available;
using programs::contains;
using programs::text_of;

int plain(int x) { return x; }

struct counter {
  int count = 0;
  int add(int n) { return count += n; }
};

ray::task_options in(const ray::placement_group& group, std::size_t bundle, double cpus = 1) {
  return {.num_cpus = cpus, .scheduling = group.bundle(bundle)};
}

}  // namespace

TEST_CASE("a group reserves its bundles, tasks run in them, remove gives them back") {
  auto session = ray::init({.num_cpus = 3, .resources = {{"disk", 2}}});
  ray::placement_group group({{.num_cpus = 1}, {.num_cpus = 1, .resources = {{"disk", 2}}}},
                             ray::strategy::pack);
  group.ready().get();
  await_available("CPU", 1);
  CHECK(ray::available_resources().at("disk") == 0);
  CHECK(ray::remote(plain, in(group, 0))(1).get() == 1);
  auto with_disk = in(group, 1);
  with_disk.resources = {{"disk", 1.5}};
  CHECK(ray::remote(plain, with_disk)(2).get() == 2);
  auto actor_options = ray::actor_options{.num_cpus = 1, .scheduling = group.bundle(0)};
  auto actor = ray::make_actor<counter>(actor_options);
  CHECK(actor.call(&counter::add, 3).get() == 3);
  actor = {};
  group.remove();
  // What comes back is seen by the next who needs it all.
  CHECK(ray::remote(plain, {.num_cpus = 3, .resources = {{"disk", 2}}})(5).get() == 5);
}

TEST_CASE("a group waits until all of it fits, and takes nothing before") {
  auto session = ray::init({.num_cpus = 2});
  static std::latch release(1);
  ray::queue<int> here(0);
  auto holds = ray::remote(
      [](const ray::queue<int>& come) {
        come.put(1);
        release.wait();
      },
      {.num_cpus = 1})(here);
  here.get();
  ray::placement_group group({{.num_cpus = 1}, {.num_cpus = 1}});
  CHECK_FALSE(group.ready().wait_for(5ms));
  auto inside = ray::remote(plain, in(group, 1))(4);
  CHECK_FALSE(inside.wait_for(5ms));
  release.count_down();
  holds.get();
  group.ready().get();
  CHECK(inside.get() == 4);
  group.remove();
}

TEST_CASE("bundles bound what runs in them") {
  auto session = ray::init({.num_cpus = 4});
  ray::placement_group group({{.num_cpus = 1}});
  group.ready().get();
  static std::latch release(1);
  ray::queue<int> here(0);
  auto run = ray::remote(
      [](const ray::queue<int>& come) {
        come.put(1);
        release.wait();
      },
      in(group, 0, 0.5));
  auto first = run(here);
  auto second = run(here);
  auto third = run(here);
  here.get();
  here.get();
  CHECK(here.size() == 0);
  CHECK(ray::remote(plain, {.num_cpus = 3})(1).get() == 1);
  release.count_down();
  ray::get(first, second, third);
}

TEST_CASE("removing a group ends what waits in it") {
  auto session = ray::init({.num_cpus = 2});
  ray::placement_group group({{.num_cpus = 1}});
  group.ready().get();
  static std::latch release(1);
  ray::queue<int> here(0);
  auto holds = ray::remote(
      [](const ray::queue<int>& come) {
        come.put(1);
        release.wait();
      },
      in(group, 0))(here);
  here.get();
  auto waits = ray::remote(plain, in(group, 0))(1);
  group.remove();
  CHECK_THROWS_AS(waits.get(), ray::cancelled_error);
  release.count_down();
  holds.wait();
  group.remove();
  // What is asked of it later is a mistake of the caller.
  CHECK(contains(text_of<ray::usage_error>([&] { ray::remote(plain, in(group, 0))(1).get(); }),
                 "removed"));
  CHECK(ray::remote(plain, {.num_cpus = 2})(3).get() == 3);
}

TEST_CASE("groups travel and compare; dropping one frees nothing") {
  auto session = ray::init({.num_cpus = 2});
  ray::placement_group group({{.num_cpus = 1}});
  group.ready().get();
  auto inside = ray::remote(
      [](const ray::placement_group& it) { return ray::remote(plain, in(it, 0))(7).get(); });
  CHECK(inside(group).get() == 7);
  auto same = ray::remote([](ray::placement_group it) { return it; })(group).get();
  CHECK(same == group);
  group = {};
  same = {};
  auto wants_all = ray::remote(plain, {.num_cpus = 2})(1);
  CHECK_FALSE(wants_all.wait_for(5ms));
  await_available("CPU", 1);
  const ray::placement_group none;
  CHECK_FALSE(none.valid());
  CHECK_THROWS_AS((void)none.ready(), ray::usage_error);
  CHECK_THROWS_AS((void)none.bundle(0), ray::usage_error);
  CHECK_THROWS_AS(none.remove(), ray::usage_error);
}

TEST_CASE("strategies on one node: all but the strictest spread") {
  auto session = ray::init({.num_cpus = 4});
  const std::vector<ray::resource_bundle> bundles(2, ray::resource_bundle{.num_cpus = 1});
  for (const auto how : {ray::strategy::pack, ray::strategy::spread, ray::strategy::strict_pack}) {
    ray::placement_group group(bundles, how);
    group.ready().get();
    await_available("CPU", 2);
    group.remove();
  }
  ray::placement_group apart(bundles, ray::strategy::strict_spread);
  CHECK_FALSE(apart.ready().wait_for(5ms));  // and a warning says why
  apart.remove();
  CHECK_THROWS_AS(apart.ready().get(), ray::cancelled_error);
}

TEST_CASE("what makes no sense is refused") {
  auto session = ray::init({.num_cpus = 2});
  CHECK_THROWS_AS(ray::placement_group(std::vector<ray::resource_bundle>()), ray::usage_error);
  CHECK_THROWS_AS(ray::placement_group({{.num_cpus = -1}}), ray::usage_error);
  CHECK_THROWS_AS(ray::placement_group({{.resources = {{"x", -1}}}}), ray::usage_error);
  ray::placement_group group({{.num_cpus = 1}});
  group.ready().get();
  CHECK_THROWS_AS((void)group.bundle(1), ray::usage_error);
  // A bundle never grows, so what is larger never fits.
  CHECK(contains(
      text_of<ray::infeasible_error>([&] { ray::remote(plain, in(group, 0, 2))(1).get(); }),
      "bundle"));
}

TEST_CASE("affinity and labels") {
  auto session = ray::init({.num_cpus = 2, .labels = {{"zone", "a"}}});
  const auto here = ray::this_node().id;
  CHECK(ray::remote(plain, {.scheduling = ray::node_affinity{.node = here}})(1).get() == 1);
  CHECK(ray::remote(plain, {.scheduling = ray::spread})(2).get() == 2);
  CHECK(ray::remote(plain, {.scheduling = ray::default_strategy})(2).get() == 2);
  CHECK(ray::remote(plain, {.labels = {{"zone", "a"}}})(3).get() == 3);
  const ray::task_options soft{.scheduling =
                                   ray::node_affinity{.node = ray::node_id(), .soft = true}};
  CHECK(ray::remote(plain, soft)(4).get() == 4);
  auto elsewhere = ray::remote(plain, {.labels = {{"zone", "b"}}})(5);
  CHECK_FALSE(elsewhere.wait_for(5ms));
  ray::cancel(elsewhere);
  CHECK_THROWS_AS(elsewhere.get(), ray::cancelled_error);
}
