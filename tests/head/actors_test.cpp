#include "world.hpp"

using namespace ray;
using namespace ray::detail::head;
namespace head = ray::detail::head;
using testing::world;

TEST_CASE("an actor without resources is placed at once, where fewest are") {
  world w;
  const auto a = w.node({1}), b = w.node({1});
  const auto j = w.job();
  std::map<node_id, int> count;
  for (int i = 0; i < 10; ++i) ++count[w.running[w.actor(j)].node];
  CHECK(count[a] == 5);
  CHECK(count[b] == 5);
  CHECK(w.machine.available_resources() == resource_set(2));
}

TEST_CASE("an actor holds its resources for as long as it lives") {
  world w;
  w.node({2});
  const auto j = w.job();
  const auto a = w.actor(j, {.resources = {1}}), b = w.actor(j, {.resources = {1}});
  const auto c = w.actor(j, {.resources = {1}});
  CHECK(w.is_running(b));
  CHECK_FALSE(w.is_running(c));
  w.apply(kill_actor{a});
  CHECK(w.has_ended(a));
  CHECK(w.to_stop.contains(a));
  CHECK_FALSE(w.is_running(c));  // a is not gone yet
  w.died(a);
  CHECK(w.is_running(c));
  CHECK(w.machine.actors().size() == 2);
}

TEST_CASE("actors that wait come in the order in which they were made") {
  world w;
  w.node({1});
  const auto j = w.job();
  std::vector<actor_id> all;
  for (int i = 0; i < 5; ++i) all.push_back(w.actor(j, {.resources = {1}}));
  for (int i = 0; i < 5; ++i) {
    CHECK(w.is_running(all[static_cast<std::size_t>(i)]));
    w.died(all[static_cast<std::size_t>(i)], false);
  }
}

TEST_CASE("a name is taken until its actor has ended") {
  world w;
  w.node({1});
  const auto j = w.job(0, "mine"), other = w.job(0, "theirs");
  const auto a = w.actor({.job = j, .name = "scores"});
  CHECK(w.machine.find_actor("scores", "mine")->id == a);
  CHECK(w.machine.find_actor("scores", "mine")->type_name == "counter");
  CHECK_FALSE(w.machine.find_actor("scores", "theirs"));
  CHECK_FALSE(w.machine.find_actor("scores", ""));
  const auto elsewhere = w.actor({.job = other, .name = "scores"});
  CHECK(w.is_running(elsewhere));
  const auto again = w.actor({.job = other, .name = "scores", .name_space = "mine"});
  CHECK(w.has_ended(again));
  CHECK(w.ended[again].find("'scores'") != std::string::npos);
  CHECK(w.ended[again].find("name space 'mine'") != std::string::npos);
  CHECK(w.ended[again].find(to_string(a)) != std::string::npos);
  const auto found =
      w.actor({.job = other, .name = "scores", .name_space = "mine", .get_if_exists = true});
  CHECK(w.last_of<actor_exists>().front().requested == found);
  CHECK(w.last_of<actor_exists>().front().existing == a);
  w.apply(kill_actor{a});
  CHECK_FALSE(w.machine.find_actor("scores", "mine"));
  const auto next = w.actor({.job = j, .name = "scores", .get_if_exists = true});
  CHECK(w.is_running(next));
  w.died(a);
  CHECK(w.machine.find_actor("scores", "mine")->id == next);
}

TEST_CASE("absurd actors are refused, and nothing has changed") {
  world w;
  w.node({1});
  const auto j = w.job();
  const auto refused = [&](create_actor in, const std::string& part) {
    try {
      w.actor(std::move(in));
      FAIL("accepted");
    } catch (const usage_error& error) {
      CHECK_MESSAGE(std::string(error.what()).find(part) != std::string::npos, error.what());
    }
    CHECK(w.machine.actors().empty());
    CHECK(inspector::lines(w.machine) == 0);
    CHECK(inspector::records(w.machine) == 0);
  };
  refused({.job = j, .detached = true}, "detached");
  refused({.job = j, .name = "a", .max_restarts = -2}, "'a'");
  refused({.job = j, .spec = {.resources = {-1}}, .name = "a"}, "num_cpus");
  refused({.job = testing::make_id<job_id>(9)}, "job");
  CHECK_THROWS_AS(w.apply(create_actor{.job = j}), usage_error);
}

TEST_CASE("an actor that died is placed again as often as it may") {
  world w;
  w.node({1});
  const auto j = w.job();
  const auto a = w.actor({.job = j, .spec = {.resources = {1}}, .name = "a", .max_restarts = 2});
  CHECK(w.running[a].incarnation == 0);
  w.died(a);
  CHECK(w.running[a].incarnation == 1);
  CHECK(w.last_of<actor_restarting>().front().incarnation == 1);
  w.apply(actor_died{a, 0, "late news"});
  CHECK(w.last.empty());
  w.died(a);
  CHECK(w.running[a].incarnation == 2);
  CHECK(w.machine.find_actor("a", "default"));
  w.died(a, true, "it crashed a third time");
  CHECK(w.ended[a] == "it crashed a third time");
  CHECK_FALSE(w.machine.find_actor("a", "default"));
  CHECK(w.machine.available_resources() == resource_set(1));
  CHECK(inspector::records(w.machine) == 0);
  const auto immortal = w.actor({.job = j, .max_restarts = -1});
  for (int i = 0; i < 100; ++i) w.died(immortal);
  CHECK(w.running[immortal].incarnation == 100);
  w.died(immortal, false, "it exited");  // or its constructor threw
  CHECK(w.has_ended(immortal));
}

TEST_CASE("an actor can be killed to start again") {
  world w;
  w.node({1});
  const auto j = w.job();
  const auto a = w.actor({.job = j, .max_restarts = 1});
  w.apply(kill_actor{a, true});
  CHECK(w.to_stop.contains(a));
  CHECK_FALSE(w.has_ended(a));
  w.apply(kill_actor{a, true});
  CHECK(w.last.empty());
  w.died(a, false);  // it did what it was told
  CHECK(w.running[a].incarnation == 1);
  w.apply(kill_actor{a, true});  // no restart is left
  CHECK(w.has_ended(a));
  w.died(a);
  CHECK(w.machine.actors().empty());
}

TEST_CASE("an actor killed to start again can still be killed for good") {
  world w;
  w.node({1});
  const auto j = w.job();
  const auto a = w.actor({.job = j, .max_restarts = 1});
  w.apply(kill_actor{a, true});
  w.apply(kill_actor{a});
  CHECK(w.has_ended(a));
  w.died(a);
  CHECK_FALSE(w.is_running(a));
  CHECK(inspector::records(w.machine) == 0);
}

TEST_CASE("actors that wait can be killed, and the others stay in line") {
  world w;
  w.node({1});
  const auto j = w.job();
  const auto a = w.actor(j, {.resources = {1}}), b = w.actor(j, {.resources = {1}});
  const auto c = w.actor(j, {.resources = {1}});
  w.apply(kill_actor{b, true});  // it is to start anyway... but it may not restart
  CHECK(w.has_ended(b));
  w.died(a, false);
  CHECK(w.is_running(c));
  const auto huge = w.actor(j, {.resources = {100}});
  CHECK(std::get<actor_id>(w.warnings.back().what) == huge);
  const auto as_huge = w.actor(j, {.resources = {100}});
  CHECK(std::get<actor_id>(w.warnings.back().what) == as_huge);
  CHECK(w.warnings.size() == 2);
  w.apply(kill_actor{huge});
  CHECK(w.has_ended(huge));
  w.node({100});
  CHECK(w.is_running(as_huge));
}

TEST_CASE("a scoped actor ends when nobody holds it, a detached one does not") {
  world w;
  w.node({2});
  const auto j = w.job();
  const auto scoped = w.actor(j);
  const auto detached = w.actor({.job = j, .name = "d", .detached = true});
  const auto waits = w.actor(j, {.resources = {5}});
  for (const auto a : {scoped, detached, waits}) w.apply(actor_unreferenced{a});
  CHECK(w.has_ended(scoped));
  CHECK(w.has_ended(waits));
  CHECK_FALSE(w.has_ended(detached));
  w.died(scoped);
  CHECK(w.machine.actors().size() == 1);
}

TEST_CASE("actors of a node that goes start elsewhere, if they may") {
  world w;
  const auto a = w.node({2});
  const auto j = w.job();
  const auto lasting =
      w.actor({.job = j, .spec = {.resources = {1}}, .name = "lasting", .max_restarts = 1});
  const auto mortal = w.actor(j, {.resources = {1}});
  w.running.clear();
  w.apply(remove_node{a, "its power failed"});
  CHECK(w.has_ended(mortal));
  CHECK(w.ended[mortal].find("its power failed") != std::string::npos);
  CHECK_FALSE(w.has_ended(lasting));
  CHECK(w.machine.find_actor("lasting", "default")->state == actor_state::waiting);
  CHECK(w.warnings.size() == 1);
  const auto b = w.node({1});
  CHECK(w.running[lasting].node == b);
  CHECK(w.running[lasting].incarnation == 1);
}

TEST_CASE("an actor that blocks lends its CPU") {
  world w;
  const auto n = w.node({1});
  const auto j = w.job();
  const auto a = w.actor(j, {.resources = {1}});
  const auto cls = w.running[a].cls, task = w.cpus(j, 1);
  w.demand(task, 2);
  CHECK(w.granted(task) == 0);
  w.apply(lend{cls, n});
  CHECK(w.granted(task) == 1);
  w.apply(reclaim{cls, n});
  w.release(task, n);
  CHECK(w.granted(task) == 0);
  w.apply(release{cls, n});  // an actor's slot comes back with the actor only
  CHECK(w.granted(task) == 0);
  CHECK_THROWS_AS(w.demand(cls, 1), usage_error);
  w.apply(lend{cls, n});
  w.died(a, false);  // while it blocks
  CHECK(w.granted(task) == 1);
}

TEST_CASE("what a found handle must know is kept") {
  world w;
  w.node({1});
  const auto j = w.job();
  const std::vector<std::byte> details{std::byte{1}, std::byte{2}};
  const auto a =
      w.actor({.job = j, .name = "a", .detached = true, .max_restarts = 3, .details = details});
  const auto view = *w.machine.find_actor("a", "default");
  CHECK(view.id == a);
  CHECK(view.job == j);
  CHECK(view.details == details);
  CHECK(view.detached);
  CHECK(view.state == actor_state::alive);
  CHECK(w.machine.find_actor(a)->name == "a");
}
