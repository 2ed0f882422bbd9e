#include "world.hpp"

using namespace ray;
using namespace ray::detail::head;
using testing::world;

TEST_CASE("narrow tasks do not starve a wide one") {
  world w;
  const auto n = w.node({4});
  const auto j = w.job();
  const auto narrow = w.cpus(j, 1), wide = w.cpus(j, 4);
  w.demand(narrow, 100);
  w.demand(wide, 1);
  CHECK(w.granted(wide) == 0);
  for (int i = 0; i < 3; ++i) w.release(narrow, n);
  CHECK(w.granted(narrow) == 1);  // what came back is held
  w.release(narrow, n);
  CHECK(w.granted(wide) == 1);
  w.release(wide, n);
  CHECK(w.granted(narrow) == 4);
}

TEST_CASE("wide tasks do not starve narrow ones") {
  world w;
  const auto n = w.node({4});
  const auto j = w.job();
  const auto narrow = w.cpus(j, 1), wide = w.cpus(j, 4);
  w.demand(wide, 100);
  w.demand(narrow, 100);
  w.release(wide, n);
  CHECK(w.granted(narrow) == 4);
  while (w.granted(narrow) > 0) w.release(narrow, n);
  CHECK(w.granted(wide) == 1);
}

TEST_CASE("what is free beside the drawer's need goes to others") {
  world w;
  const auto n = w.node({4, 1, 10});
  const auto j = w.job();
  const auto gpu = w.class_of(j, {.resources = {1, 1}}), narrow = w.cpus(j, 1);
  const auto next = w.class_of(j, {.resources = {1, 1, 10}});
  w.demand(gpu, 1);
  w.demand(next, 1);  // draws for the GPU, and holds a CPU
  w.demand(narrow, 5);
  CHECK(w.granted(narrow) == 2);
  w.release(narrow, n);
  CHECK(w.granted(narrow) == 2);
  w.release(gpu, n);
  CHECK(w.granted(next) == 1);
  CHECK(w.granted(narrow) == 3);  // nobody draws for a GPU any more
}

TEST_CASE("on another node, what the drawer does not hold is free for all, it included") {
  world w;
  const auto a = w.node({4}), b = w.node({4});
  const auto j = w.job();
  const auto narrow = w.cpus(j, 1), wide = w.cpus(j, 4);
  w.demand(narrow, 20);
  CHECK(w.granted(narrow) == 8);
  w.demand(wide, 1);
  const auto before = w.machine.waiting(narrow);
  // It draws on one of them. Everything the other node gives back goes on to narrow tasks.
  w.release(narrow, a);
  w.release(narrow, b);
  CHECK(w.machine.waiting(narrow) == before - 1);
  w.demand(narrow, 0);
  while (w.granted(narrow, b) > 0) w.release(narrow, b);
  CHECK(w.granted(wide, b) == 1);
  CHECK_FALSE(inspector::someone_draws(w.machine));
}

TEST_CASE("higher priority goes first, and takes over what is held") {
  world w;
  const auto n = w.node({4});
  const auto j = w.job();
  const auto narrow = w.cpus(j, 1), wide = w.cpus(j, 4), urgent = w.cpus(j, 2, 5);
  w.demand(narrow, 4);
  w.demand(wide, 1);
  w.release(narrow, n);
  w.release(narrow, n);
  CHECK(w.granted(wide) == 0);
  w.demand(urgent, 2);
  CHECK(w.granted(urgent) == 1);
  w.release(narrow, n);
  w.release(narrow, n);
  CHECK(w.granted(urgent) == 2);
  w.release(urgent, n);
  w.release(urgent, n);
  CHECK(w.granted(wide) == 1);
}

TEST_CASE("low priority waits for as long as high priority wants") {
  world w;
  const auto n = w.node({1});
  const auto j = w.job();
  const auto low = w.cpus(j, 1, -1), high = w.cpus(j, 1, 1);
  w.demand(low, 1);
  w.demand(high, 3);
  w.demand(low, 1);
  w.release(low, n);
  for (int i = 0; i < 3; ++i) {
    CHECK(w.granted(high) == 1);
    CHECK(w.granted(low) == 0);
    w.release(high, n);
  }
  CHECK(w.granted(low) == 1);
}

TEST_CASE("classes of one priority share what there is") {
  world w;
  const auto n = w.node({8});
  const auto j = w.job();
  const auto first = w.cpus(j, 1), second = w.cpus(j, 1), third = w.cpus(j, 0.5);
  CHECK(first == second);
  const auto other = w.class_of(j, {.resources = {1}, .isolated = true});
  w.demand(first, 1000);
  w.demand(other, 1000);
  CHECK(w.granted(first) == 8);
  for (int i = 0; i < 4; ++i) w.release(first, n);
  CHECK(w.granted(first) == 4);
  CHECK(w.granted(other) == 4);
  for (int i = 0; i < 20; ++i) w.release(i % 2 == 0 ? first : other, n);
  CHECK(w.granted(first) == 4);
  CHECK(w.granted(other) == 4);
  w.demand(third, 1000);
  for (int i = 0; i < 100; ++i) {
    w.release(first, n);
    w.release(other, n);
    if (w.granted(third) > 0) w.release(third, n);
  }
  CHECK(w.granted(third) >= 4);
  CHECK(w.granted(first) >= 2);
  CHECK(w.granted(other) >= 2);
}

TEST_CASE("nobody draws for what actors and groups have for good") {
  world w;
  const auto n = w.node({4});
  const auto j = w.job();
  const auto a = w.actor(j, {.resources = {1}});
  const auto wide = w.cpus(j, 4), narrow = w.cpus(j, 1);
  w.demand(wide, 1);
  CHECK(w.warnings.empty());  // it could run if the actor were not there
  w.demand(narrow, 4);
  CHECK(w.granted(narrow) == 3);
  for (int i = 0; i < 5; ++i) w.release(narrow, n), w.demand(narrow, 4);
  CHECK(w.granted(narrow) == 3);
  w.apply(kill_actor{a});
  w.died(a);
  CHECK(w.granted(narrow) == 3);  // now the wide one draws
  for (int i = 0; i < 3; ++i) w.release(narrow, n);
  CHECK(w.granted(wide) == 1);
}

TEST_CASE(
    "nobody draws for what a blocked task keeps: it may wait for one that needs what is held") {
  world w;
  const auto n = w.node({1, 1});
  const auto j = w.job();
  const auto gpu = w.class_of(j, {.resources = {1, 1}}), child = w.cpus(j, 1);
  w.demand(gpu, 2);  // the second draws
  w.demand(child, 1);
  CHECK(w.granted(child) == 0);
  w.apply(lend{gpu, n});  // the first waits for the child
  CHECK(w.granted(child) == 1);
  w.release(child, n);
  w.apply(reclaim{gpu, n});
  w.release(gpu, n);
  CHECK(w.granted(gpu) == 1);
}

TEST_CASE("a drawer whose node goes draws elsewhere") {
  world w;
  const auto a = w.node({4}), b = w.node({4});
  const auto j = w.job();
  const auto narrow = w.cpus(j, 1), wide = w.cpus(j, 4);
  w.demand(narrow, 8);
  w.demand(wide, 1);
  w.apply(remove_node{a});
  CHECK(inspector::someone_draws(w.machine));
  for (int i = 0; i < 4; ++i) w.release(narrow, b);
  CHECK(w.granted(wide, b) == 1);
}

TEST_CASE("a drawer that gives up lets go") {
  world w;
  const auto n = w.node({4});
  const auto j = w.job();
  const auto narrow = w.cpus(j, 1), wide = w.cpus(j, 4);
  w.demand(narrow, 10);
  w.demand(wide, 1);
  w.release(narrow, n);
  w.release(narrow, n);
  CHECK(w.granted(narrow) == 2);
  w.demand(wide, 0);
  CHECK(w.granted(narrow) == 4);
}

// Standing demands: the tokens of a thread pool.

TEST_CASE("standing slots are asked back for what waits, and granted again later") {
  world w;
  const auto n = w.node({4});
  const auto j = w.job();
  const auto tokens = w.cpus(j, 1), wide = w.cpus(j, 2);
  w.keep(tokens, 4);
  CHECK(w.granted(tokens) == 4);
  w.demand(wide, 1);
  CHECK(w.asked_back(tokens) == 2);
  CHECK(w.recalled.at({tokens, n}).from_busy == 2);
  w.release(tokens, n);
  CHECK(w.last.empty());  // no new recall: one less is wanted, and both sides know
  CHECK(w.granted(wide) == 0);
  w.release(tokens, n);
  CHECK(w.granted(wide) == 1);
  CHECK(w.granted(tokens) == 2);
  CHECK(w.asked_back(tokens) == 0);
  w.release(wide, n);
  CHECK(w.granted(tokens) == 4);
}

TEST_CASE("tokens and a long queue of wide tasks take turns") {
  world w;
  const auto n = w.node({2});
  const auto j = w.job();
  const auto tokens = w.cpus(j, 1), wide = w.cpus(j, 2);
  w.keep(tokens, 2);
  w.demand(wide, 100);
  int wide_turns = 0, token_turns = 0;
  for (int step = 0; step < 60; ++step) {
    if (w.granted(wide) > 0) {
      ++wide_turns;
      w.release(wide, n);
    } else {
      REQUIRE(w.asked_back(tokens) > 0);
      ++token_turns;
      w.release(tokens, n);
    }
  }
  CHECK(wide_turns == 20);  // every wide turn follows two tokens
  CHECK(token_turns == 40);
}

TEST_CASE("tokens in use and a queue end up with the same; idle tokens all go") {
  world w;
  const auto n = w.node({16});
  const auto j = w.job();
  const auto tokens = w.cpus(j, 1), pairs = w.cpus(j, 2);
  w.keep(tokens, 16);
  w.demand(pairs, 100);
  while (!w.recalled.empty() && w.recalled.begin()->second.from_busy > 0) w.release(tokens, n);
  CHECK(w.granted(tokens) == 8);
  CHECK(w.granted(pairs) == 4);
  for (int i = 0; i < 20; ++i) {
    w.release(pairs, n);
    while (!w.recalled.empty() && w.recalled.begin()->second.from_busy > 0) w.release(tokens, n);
  }
  CHECK(w.granted(tokens) == 8);
  CHECK(w.granted(pairs) == 4);
  // The pool runs out of work.
  w.release(tokens, n, 1, true);
  while (!w.recalled.empty()) w.release(tokens, n, 1, true);
  CHECK(w.granted(pairs) == 8);
  CHECK(w.granted(tokens) == 0);
  // And has some again.
  w.keep(tokens, 16);
  for (int i = 0; i < 8; ++i) w.release_one(pairs);
  CHECK(w.granted(tokens) == 8);
  CHECK(w.granted(pairs) == 4);
}

TEST_CASE("an actor or a group takes tokens in use") {
  world w;
  const auto n = w.node({2});
  const auto j = w.job();
  const auto tokens = w.cpus(j, 1);
  w.keep(tokens, 2);
  const auto a = w.actor(j, {.resources = {1}});
  CHECK(w.recalled.at({tokens, n}).from_busy == 1);
  w.release(tokens, n);
  CHECK(w.is_running(a));
  const auto g = w.group(j, {{.resources = {1}}});
  CHECK(w.recalled.at({tokens, n}).from_busy == 1);
  w.release(tokens, n);
  CHECK(w.is_ready(g));
  w.apply(remove_group{g});
  CHECK(w.granted(tokens) == 1);
  w.died(a, false);
  CHECK(w.granted(tokens) == 2);
}

TEST_CASE("lower priority gets tokens only when they are idle") {
  world w;
  const auto n = w.node({2});
  const auto j = w.job();
  const auto tokens = w.cpus(j, 1), low = w.cpus(j, 2, -1), high = w.cpus(j, 2, 1);
  w.keep(tokens, 2);
  w.demand(low, 1);
  CHECK(w.recalled.at({tokens, n}).slots == 2);
  CHECK(w.recalled.at({tokens, n}).from_busy == 0);
  w.release(tokens, n);  // a task ended, but there are more: back it goes
  CHECK(w.granted(tokens) == 2);
  CHECK(w.recalled.at({tokens, n}).slots == 2);
  w.demand(high, 1);
  CHECK(w.recalled.at({tokens, n}).from_busy == 2);
  w.release(tokens, n, 2);
  CHECK(w.granted(high) == 1);
  w.release(high, n);
  CHECK(w.granted(tokens) == 2);
  w.release(tokens, n, 2, true);
  CHECK(w.granted(low) == 1);
}

TEST_CASE("a recall that is no longer needed is withdrawn") {
  world w;
  w.node({2});
  const auto j = w.job();
  const auto tokens = w.cpus(j, 1), wide = w.cpus(j, 2);
  w.keep(tokens, 2);
  w.demand(wide, 1);
  CHECK(w.asked_back(tokens) == 2);
  w.demand(wide, 0);
  CHECK(w.asked_back(tokens) == 0);
  CHECK(w.last_of<recall>().front().slots == 0);
}

TEST_CASE("tokens granted out of lent CPUs are asked back when the lender goes on") {
  world w;
  const auto n = w.node({2});
  const auto j = w.job();
  const auto tokens = w.cpus(j, 1), wide = w.cpus(j, 2);
  w.demand(wide, 1);
  w.keep(tokens, 2);
  CHECK(w.granted(tokens) == 0);
  w.apply(lend{wide, n});
  CHECK(w.granted(tokens) == 2);
  w.apply(reclaim{wide, n});
  CHECK(w.recalled.at({tokens, n}).from_busy == 2);
  w.release(tokens, n, 2);
  CHECK(w.granted(tokens) == 0);
  w.release(wide, n);
  CHECK(w.granted(tokens) == 2);
}

TEST_CASE("a standing demand that falls leaves what is idle to others") {
  world w;
  const auto n = w.node({4});
  const auto j = w.job();
  const auto tokens = w.cpus(j, 1), other = w.cpus(j, 3);
  w.keep(tokens, 4);
  w.keep(tokens, 1);
  w.release(tokens, n, 3);
  CHECK(w.granted(tokens) == 1);
  w.demand(other, 1);
  CHECK(w.granted(other) == 1);
  CHECK_THROWS_AS(w.demand(tokens, 1), usage_error);
}
