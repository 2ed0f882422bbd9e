#include "world.hpp"

using namespace ray;
using namespace ray::detail::head;
namespace head = ray::detail::head;
using testing::world;

TEST_CASE("jobs of one priority get equal shares, whatever their queues") {
  world w;
  const auto n = w.node({12});
  const auto a = w.job(), b = w.job(), c = w.job();
  const auto one = w.cpus(a, 1), other = w.class_of(a, {.resources = {1}, .isolated = true});
  const auto of_b = w.cpus(b, 1), of_c = w.cpus(c, 2);
  w.demand(one, 1000);
  w.demand(other, 1000);
  w.demand(of_b, 1000);
  w.demand(of_c, 1000);
  double of_each[3] = {};
  int samples = 0;
  for (int i = 0; i < 100; ++i) {
    for (const auto cls : {one, other, of_b, of_c}) {
      if (w.granted(cls) > 0) w.release(cls, n);
      of_each[0] += static_cast<double>(w.granted(one) + w.granted(other));
      of_each[1] += static_cast<double>(w.granted(of_b));
      of_each[2] += static_cast<double>(2 * w.granted(of_c));
      ++samples;
    }
  }
  // The tasks of two CPUs wait for both, so their job is a little behind.
  for (const double sum : of_each) CHECK(sum / samples == doctest::Approx(4).epsilon(0.25));
}

TEST_CASE("shares are dominant shares") {
  world w;
  const auto n = w.node({8, 4});
  const auto a = w.job(), b = w.job();
  const auto gpus = w.class_of(a, {.resources = {1, 1}}), cpus = w.cpus(b, 1);
  w.demand(gpus, 1000);
  w.demand(cpus, 1000);
  for (int i = 0; i < 100; ++i) {
    if (w.granted(gpus) > 0) w.release(gpus, n);
    if (w.granted(cpus) > 0) w.release(cpus, n);
  }
  // 2/4 of the GPUs against 4/8 of the CPUs would leave two CPUs unused: what is over goes on.
  CHECK(w.granted(gpus) >= 2);
  CHECK(w.granted(gpus) <= 3);
  CHECK(w.granted(cpus) + w.granted(gpus) == 8);
}

TEST_CASE("a job of higher priority goes first") {
  world w;
  const auto n = w.node({2});
  const auto low = w.job(0), high = w.job(1);
  const auto of_low = w.cpus(low, 1, 100), of_high = w.cpus(high, 1);
  w.demand(of_low, 10);
  w.demand(of_high, 3);
  w.release(of_low, n);
  w.release(of_low, n);
  CHECK(w.granted(of_high) == 2);
  w.release(of_high, n);
  CHECK(w.granted(of_high) == 2);
  w.release(of_high, n);
  CHECK(w.granted(of_low) == 1);
}

TEST_CASE("standing slots of a job above its share are asked back for another") {
  world w;
  const auto n = w.node({4});
  const auto a = w.job(), b = w.job();
  const auto of_a = w.cpus(a, 1), of_b = w.cpus(b, 1);
  w.keep(of_a, 4);
  w.keep(of_b, 4);
  while (!w.recalled.empty() && w.recalled.begin()->second.from_busy > 0) {
    const auto [cls, node] = w.recalled.begin()->first;
    w.release(cls, node);
  }
  CHECK(w.granted(of_a) == 2);
  CHECK(w.granted(of_b) == 2);
  (void)n;
}

TEST_CASE("a job that ends gives everything back at once") {
  world w;
  w.node({8, 1});
  const auto j = w.job(), other = w.job();
  const auto g = w.group(j, {{{2}, {}}});
  const auto inside = w.class_of(j, {.resources = {1}, .strategy = in_bundle{g, 0}});
  const auto cls = w.cpus(j, 1), huge = w.cpus(j, 50), tokens = w.cpus(j, 0.5);
  w.keep(tokens, 2);
  w.demand(inside, 3);
  w.demand(cls, 1);
  w.demand(huge, 1);
  w.apply(lend{cls, w.machine.nodes()[0].id});
  const auto a = w.actor({.job = j, .spec = {.resources = {1}}, .name = "a"});
  const auto b = w.actor(j, {.resources = {1}, .strategy = in_bundle{g, 0}});
  const auto c = w.actor(j, {.resources = {60}});
  const auto late = w.group(j, {{{8}, {}}});
  const auto waiting = w.cpus(other, 8);
  w.demand(waiting, 1);
  w.slots.clear();
  w.recalled.clear();
  w.apply(end_job{j});
  CHECK(w.granted(waiting) == 1);
  for (const auto id : {a, b, c}) {
    CHECK(w.has_ended(id));
    CHECK(w.ended[id].find("its job") != std::string::npos);
  }
  CHECK(w.machine.groups().empty());
  CHECK_FALSE(w.is_ready(g));
  CHECK_FALSE(w.is_ready(late));
  CHECK(inspector::records(w.machine) == 0);
  CHECK(inspector::lines(w.machine) == 1);
  CHECK(inspector::pools(w.machine) == 1);
  CHECK(inspector::jobs(w.machine) == 1);
  CHECK_THROWS_AS((void)w.cpus(j, 1), usage_error);
  w.apply(end_job{j});
  CHECK(w.last.empty());
  w.apply(actor_died{a, 0, "late news"});
  CHECK(w.last.empty());
}

TEST_CASE("a detached actor outlives its job, restarts included, until it is killed") {
  world w;
  w.node({2});
  const auto j = w.job();
  const auto g = w.group(j, {{{1}, {}}});
  const auto a = w.actor(
      {.job = j, .spec = {.resources = {1}}, .name = "a", .detached = true, .max_restarts = 1});
  const auto b = w.actor({.job = j,
                          .spec = {.resources = {1}, .strategy = in_bundle{g, 0}},
                          .name = "b",
                          .detached = true,
                          .max_restarts = 1});
  w.apply(end_job{j});
  CHECK(w.is_running(a));
  CHECK(w.is_running(b));
  CHECK(w.machine.available_resources() == resource_set{});
  CHECK_THROWS_AS(w.actor(j), usage_error);
  w.died(a);
  CHECK(w.running[a].incarnation == 1);
  w.died(b);  // its bundle is gone with the job
  CHECK(w.has_ended(b));
  CHECK(inspector::jobs(w.machine) == 1);
  w.apply(kill_actor{a});
  w.died(a);
  CHECK(w.machine.available_resources() == resource_set(2));
  CHECK(inspector::jobs(w.machine) == 0);
  CHECK(inspector::lines(w.machine) == 0);
  CHECK(inspector::records(w.machine) == 0);
}
