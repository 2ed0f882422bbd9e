// Options of actors and calls: names, lifetimes, concurrency, restarts, checkpoints, limits.
#include "testing.hpp"

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using namespace std::chrono_literals;
using programs::await_available;
using programs::contains;
using programs::gate;
using programs::text_of;

std::atomic<int> constructed = 0;

struct counter {
  int count = 0;
  counter() { ++constructed; }
  explicit counter(int start) : count(start) { ++constructed; }
  int add(int n) { return count += n; }
  int pass(const gate& at) {
    at.pass();
    return count;
  }
  int flaky(int failures) {
    if (ray::this_task::attempt() < failures) throw std::runtime_error("flaky");
    return ++count;
  }
  std::string call_name() const { return ray::this_task::name(); }
  template <typename Archive>
  void serialize(Archive& archive) {
    archive(count);
  }
};

struct other_class {
  int method() { return 1; }
};

/// Makes the actor and gives the usage_error with which it is refused.
template <typename Class = counter>
std::string refusal(ray::actor_options options) {
  return text_of<ray::usage_error>([&] {
    auto one = ray::make_actor<Class>(std::move(options));
    one.ready().get();
  });
}

}  // namespace

TEST_CASE("named actors are found in their name space, by their type") {
  auto session = ray::init({.num_cpus = 1, .name_space = "mine"});
  auto one = ray::make_actor<counter>({.name = "scores"}, 5);
  auto found = ray::find_actor<counter>("scores");
  REQUIRE(found.has_value());
  CHECK(*found == one);
  CHECK(found->call(&counter::add, 1).get() == 6);
  CHECK(ray::find_actor<counter>("scores", "mine").has_value());
  CHECK_FALSE(ray::find_actor<counter>("scores", "yours").has_value());
  CHECK_FALSE(ray::find_actor<counter>("nothing").has_value());
  CHECK_THROWS_AS((void)ray::find_actor<other_class>("scores"), ray::usage_error);
  auto elsewhere = ray::make_actor<counter>({.name = "scores", .name_space = "yours"}, 7);
  CHECK(ray::find_actor<counter>("scores", "yours") == elsewhere);
  auto inside =
      ray::remote([] { return ray::find_actor<counter>("scores")->call(&counter::add, 1).get(); });
  CHECK(inside().get() == 7);
}

TEST_CASE("a name that is taken shows in ready and in every call; get_if_exists finds it") {
  auto session = ray::init({.num_cpus = 1});
  auto one = ray::make_actor<counter>({.name = "taken"}, 1);
  auto second = ray::make_actor<counter>({.name = "taken"}, 2);
  CHECK(contains(text_of<ray::actor_died_error>([&] { second.ready().get(); }), "taken"));
  CHECK_THROWS_AS(second.call(&counter::add, 1).get(), ray::actor_died_error);
  auto same = ray::make_actor<counter>({.name = "taken", .get_if_exists = true}, 3);
  CHECK(same == one);
  CHECK(same.call(&counter::add, 0).get() == 1);
  auto fresh = ray::make_actor<counter>({.name = "fresh", .get_if_exists = true}, 4);
  CHECK(fresh.call(&counter::add, 0).get() == 4);
  const ray::actor_options wrong{.name = "taken", .get_if_exists = true};
  CHECK_THROWS_AS((void)ray::make_actor<other_class>(wrong), ray::usage_error);
  // A name is free again when its actor has ended.
  one.kill();
  CHECK_THROWS_AS(one.call(&counter::add, 1).get(), ray::actor_died_error);
  auto next = ray::make_actor<counter>({.name = "taken"}, 9);
  CHECK(next.call(&counter::add, 0).get() == 9);
}

TEST_CASE("a detached actor outlives its handles, and needs a name") {
  auto session = ray::init({.num_cpus = 1});
  (void)ray::make_actor<counter>({.name = "stays", .lifetime = ray::actor_lifetime::detached}, 5);
  auto found = ray::find_actor<counter>("stays");
  REQUIRE(found.has_value());
  CHECK(found->call(&counter::add, 1).get() == 6);
  found.reset();
  CHECK(ray::find_actor<counter>("stays")->call(&counter::add, 1).get() == 7);
  ray::find_actor<counter>("stays")->kill();
  CHECK(contains(refusal({.lifetime = ray::actor_lifetime::detached}), "name"));
}

TEST_CASE("concurrency groups have places of their own") {
  auto session = ray::init({.num_cpus = 1});
  auto one = ray::make_actor<counter>({.concurrency_groups = {{"io", 2}}}, 3);
  const gate at;
  auto blocks = one.call(&counter::pass, at);
  auto first = one.with({.concurrency_group = "io"}).call(&counter::pass, at);
  auto second = one.with({.concurrency_group = "io"}).call(&counter::pass, at);
  at.await(3);
  auto third = one.with({.concurrency_group = "io"}).call(&counter::pass, at);
  CHECK_FALSE(third.wait_for(5ms));
  at.open(3);
  at.await();
  at.open();
  CHECK(blocks.get() + first.get() + second.get() + third.get() == 12);
  CHECK(contains(text_of<ray::usage_error>(
                     [&] { (void)one.with({.concurrency_group = "none"}).call(&counter::add, 1); }),
                 "none"));
}

TEST_CASE("max_pending_calls throws at the caller, and room comes back") {
  auto session = ray::init({.num_cpus = 1});
  auto one = ray::make_actor<counter>({.name = "busy", .max_pending_calls = 2});
  one.ready().get();
  const gate at;
  auto runs = one.call(&counter::pass, at);
  at.await();
  auto first = one.call(&counter::add, 1);
  auto second = one.call(&counter::add, 1);
  CHECK(contains(text_of<ray::backpressure_error>([&] { (void)one.call(&counter::add, 1); }),
                 "busy"));
  at.open();
  CHECK(second.get() == 2);
  CHECK(one.call(&counter::add, 1).get() == 3);
}

TEST_CASE("call options: name, retries, timeout") {
  auto session = ray::init({.num_cpus = 1});
  auto one = ray::make_actor<counter>();
  CHECK(one.with({.name = "a call"}).call(&counter::call_name).get() == "a call");
  CHECK_THROWS_AS(one.call(&counter::flaky, 1).get(), std::runtime_error);
  const ray::call_options tries{.max_retries = 2, .retry_exceptions = ray::retry::always};
  CHECK(one.with(tries).call(&counter::flaky, 2).get() == 1);
  CHECK_THROWS_AS(one.with(tries).call(&counter::flaky, 3).get(), std::runtime_error);
  auto more = ray::make_actor<counter>({.max_task_retries = 3});
  const ray::call_options as_actor{.retry_exceptions = ray::retry::always};
  CHECK(more.with(as_actor).call(&counter::flaky, 3).get() == 1);
  const gate at;
  CHECK_THROWS_AS(one.with({.timeout = 5ms}).call(&counter::pass, at).get(), ray::timeout_error);
  CHECK(one.call(&counter::add, 0).get() == 1);
}

TEST_CASE("kill with restart makes the state anew, as often as max_restarts says") {
  auto session = ray::init({.num_cpus = 1});
  auto one = ray::make_actor<counter>({.max_restarts = 1}, 5);
  CHECK(one.call(&counter::add, 10).get() == 15);
  const gate at;
  auto runs = one.call(&counter::pass, at);
  at.await();
  auto waits = one.call(&counter::add, 1);
  one.kill({.restart = true});
  CHECK_THROWS_AS(runs.get(), ray::actor_died_error);
  at.open();
  waits.wait();  // begun by nobody: it goes to the next incarnation, or says that it did not
  CHECK(one.call(&counter::add, 0).get() == (waits.failed() ? 5 : 6));
  one.kill({.restart = true});
  CHECK_THROWS_AS(one.call(&counter::add, 0).get(), ray::actor_died_error);
}

TEST_CASE("max_task_retries: a call that runs when its actor restarts is made again") {
  auto session = ray::init({.num_cpus = 1});
  auto one = ray::make_actor<counter>({.max_restarts = 3, .max_task_retries = 1}, 5);
  const gate at;
  auto runs = one.call(&counter::pass, at);
  auto waits = one.call(&counter::add, 1);
  at.await();
  one.kill({.restart = true});
  at.await();  // the second attempt, on a new state
  at.open();
  runs.get();
  CHECK(waits.get() == 6);
  runs = one.call(&counter::pass, at);
  for (int i = 0; i < 2; ++i) {
    at.await();
    one.kill({.restart = true});
  }
  CHECK_THROWS_AS(runs.get(), ray::actor_died_error);  // one retry, and it was used
  CHECK(one.call(&counter::add, 0).get() == 5);
}

TEST_CASE("a call that is cancelled before its actor lives keeps no place") {
  auto session = ray::init({.num_cpus = 1, .resources = {{"seat", 1}}});
  auto first = ray::make_actor<counter>({.resources = {{"seat", 1}}}, 1);
  CHECK(first.call(&counter::add, 0).get() == 1);
  auto second = ray::make_actor<counter>({.resources = {{"seat", 1}}}, 2);
  auto cancelled = second.call(&counter::add, 1);
  ray::cancel(cancelled);
  CHECK_THROWS_AS(cancelled.get(), ray::cancelled_error);
  first.kill();
  CHECK(second.call(&counter::add, 0).get() == 2);
}

TEST_CASE("a restart resumes from the last checkpoint") {
  auto session = ray::init({.num_cpus = 1});
  auto one = ray::make_actor<counter>({.max_restarts = -1, .checkpoint_every = 0ns}, 1);
  for (int i = 0; i < 10; ++i) (void)one.call(&counter::add, 1);
  CHECK(one.call(&counter::add, 0).get() == 11);
  one.kill({.restart = true});
  CHECK(one.call(&counter::add, 0).get() == 11);
  CHECK(one.call(&counter::add, 5).get() == 16);
  // A checkpoint follows the call, and no other call begins before it has been made.
  CHECK(one.call(&counter::add, 0).get() == 16);
  one.kill({.restart = true});
  CHECK(one.call(&counter::add, 0).get() == 16);
  struct not_serializable {
    not_serializable() {}
    std::string* text = nullptr;
  };
  CHECK_FALSE(refusal<not_serializable>({.checkpoint_every = 1s}).empty());
}

TEST_CASE("an actor's resources are taken while it lives, and bound how many there are") {
  auto session = ray::init({.num_cpus = 2, .resources = {{"seat", 1}}});
  auto one = ray::make_actor<counter>({.num_cpus = 1, .resources = {{"seat", 1}}});
  one.ready().get();
  CHECK(ray::available_resources().at("seat") == 0);
  await_available("CPU", 1);
  auto waits = ray::make_actor<counter>({.resources = {{"seat", 1}}}, 4);
  CHECK_FALSE(waits.ready().wait_for(5ms));
  one = {};
  CHECK(waits.call(&counter::add, 0).get() == 4);
}

TEST_CASE("absurd options are refused") {
  auto session = ray::init({.num_cpus = 1});
  CHECK(contains(refusal({.num_cpus = -1}), "num_cpus"));
  CHECK(contains(refusal({.resources = {{"seat", -1}}}), "seat"));
  CHECK(contains(refusal({.max_concurrency = 0}), "max_concurrency"));
  CHECK(contains(refusal({.concurrency_groups = {{"io", 0}}}), "io"));
  CHECK(contains(refusal({.max_restarts = -2}), "max_restarts"));
  CHECK(contains(refusal({.max_task_retries = -2}), "max_task_retries"));
  CHECK(contains(refusal({.checkpoint_every = -1s}), "checkpoint_every"));
  CHECK(contains(refusal({.isolated = true}), "isolated"));
  CHECK(contains(refusal({.get_if_exists = true}), "name"));
}
