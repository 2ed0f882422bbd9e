// Actors: making them, calling them, the order of calls, handles, names and the end.
#include "testing.hpp"

#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <unordered_set>
#include <vector>

namespace {

using programs::contains;
using programs::gate;
using programs::text_of;

struct counter_base {
  int count = 0;
  int base_value() const { return count * 100; }
};

struct counter : counter_base {
  counter() = default;
  explicit counter(int start) { count = start; }
  int add(int n) { return count += n; }
  int value() const { return count; }
  void fail() { throw std::logic_error("a method failed"); }
  void leave() { ray::exit_actor(); }
};

/// Neither copyable nor movable nor serializable.
struct pinned_down {
  explicit pinned_down(std::unique_ptr<int> start) : value(std::move(start)) {}
  pinned_down(const pinned_down&) = delete;
  std::unique_ptr<int> value;
  int get() { return *value; }
};

struct aggregate {
  int a = 1;
  std::string b = "b";
  std::string both() const { return b + std::to_string(a); }
};

struct throws_when_made {
  explicit throws_when_made(int) { throw std::invalid_argument("a bad start"); }
  int method() { return 1; }
};

struct recorder {
  std::vector<int> order;
  void note(int n) { order.push_back(n); }
  void wait_and_note(const gate& at, int n) {
    at.pass();
    order.push_back(n);
  }
  std::vector<int> all() const { return order; }
};

}  // namespace

TEST_CASE("methods, base methods, members and callables are called on the state") {
  auto session = ray::init({.num_cpus = 1});
  auto one = ray::make_actor<counter>(10);
  CHECK(one.call(&counter::add, 5).get() == 15);
  CHECK(one.call(&counter::value).get() == 15);
  CHECK(one.call(&counter::base_value).get() == 1500);
  CHECK(one.call(&counter::count).get() == 15);
  CHECK(one.call([](counter& self, int n) { return self.count -= n; }, 5).get() == 10);
  CHECK(one.call([](const counter& self) { return self.count; }).get() == 10);
  CHECK(one.call([](auto& self, auto n) { return self.count + n; }, 0.5).get() == 10.5);
  CHECK(one.call([](counter& self, int n = 3) { return self.count + n; }).get() == 13);
  CHECK(one.call(ray::bind([](int bound, counter& self) { return self.count + bound; }, 7)).get() ==
        17);
  CHECK(one.call(&counter::add, ray::put(1)).get() == 11);
  const auto constant = one;
  CHECK(constant.call(&counter::value).get() == 11);
  auto none = one.call([](counter&) {});
  static_assert(std::is_same_v<decltype(none), ray::future<void>>);
  auto flat = one.call([](counter& self) { return ray::put(self.count); });
  static_assert(std::is_same_v<decltype(flat), ray::future<int>>);
  CHECK(flat.get() == 11);
}

TEST_CASE("actors are made as T(args...), or T{args...} of an aggregate") {
  auto session = ray::init({.num_cpus = 1});
  CHECK(ray::make_actor<counter>().call(&counter::value).get() == 0);
  CHECK(ray::make_actor<counter>(ray::put(4)).call(&counter::value).get() == 4);
  CHECK(ray::make_actor<aggregate>().call(&aggregate::both).get() == "b1");
  CHECK(ray::make_actor<aggregate>(5).call(&aggregate::both).get() == "b5");
  CHECK(ray::make_actor<aggregate>(5, "text").call(&aggregate::both).get() == "text5");
  auto pinned = ray::make_actor<pinned_down>(std::make_unique<int>(8));
  CHECK(pinned.call(&pinned_down::get).get() == 8);
  auto named = ray::make_actor<counter>({.name = "with options"}, 3);
  CHECK(named.call(&counter::value).get() == 3);
  named.ready().get();
}

TEST_CASE("an argument of the constructor may be late; calls wait for it") {
  auto session = ray::init({.num_cpus = 1});
  const gate at;
  auto start = ray::remote([](const gate& where) {
    where.pass();
    return 9;
  })(at);
  auto one = ray::make_actor<counter>(start);
  auto value = one.call(&counter::value);
  at.await();
  CHECK_FALSE(one.ready().ready());
  CHECK_FALSE(value.ready());
  at.open();
  CHECK(value.get() == 9);
  auto bad = ray::remote([]() -> int { throw std::domain_error("no start"); })();
  auto never = ray::make_actor<counter>(bad);
  CHECK(contains(text_of<ray::actor_died_error>([&] { never.ready().get(); }), "no start"));
}

TEST_CASE("a constructor that throws shows in ready and in every call, with the reason") {
  auto session = ray::init({.num_cpus = 1});
  auto one = ray::make_actor<throws_when_made>(1);
  auto early = one.call(&throws_when_made::method);
  CHECK(contains(text_of<ray::actor_died_error>([&] { one.ready().get(); }), "a bad start"));
  CHECK(contains(text_of<ray::actor_died_error>([&] { early.get(); }), "a bad start"));
  auto late = one.call(&throws_when_made::method);
  CHECK(contains(text_of<ray::actor_died_error>([&] { late.get(); }), "throws_when_made"));
}

TEST_CASE("a method that throws fails its call only") {
  auto session = ray::init({.num_cpus = 1});
  auto one = ray::make_actor<counter>(1);
  auto failed = one.call(&counter::fail);
  CHECK(one.call(&counter::add, 1).get() == 2);
  CHECK(text_of<std::logic_error>([&] { failed.get(); }) == "a method failed");
  auto unready = one.call(
      &counter::add, one.call([](counter&) -> int { throw std::out_of_range("the argument"); }));
  CHECK_THROWS_AS(unready.get(), std::out_of_range);
  CHECK(one.call(&counter::value).get() == 2);
}

TEST_CASE("calls of one caller begin in order, even while the first waits for an argument") {
  auto session = ray::init({.num_cpus = 2});
  auto one = ray::make_actor<recorder>();
  const gate at;
  auto late = ray::remote([](const gate& where) {
    where.pass();
    return 0;
  })(at);
  at.await();
  std::vector<ray::future<void>> calls{one.call(&recorder::note, late)};
  for (int i = 1; i < 100; ++i) calls.push_back(one.call(&recorder::note, i));
  // Another caller is not held up.
  auto other = ray::remote(
      [](const ray::actor<recorder>& to) { return ray::get(to.call(&recorder::note, 1000)); })(one);
  other.get();
  CHECK_FALSE(calls[1].ready());
  at.open();
  ray::get(calls);
  auto order = one.call(&recorder::all).get();
  REQUIRE(order.size() == 101);
  CHECK(order[0] == 1000);
  for (int i = 0; i < 100; ++i) CHECK(order[static_cast<std::size_t>(i) + 1] == i);
}

TEST_CASE("calls from a task to an actor keep their order under load, from each of many callers") {
  auto session = ray::init({.num_cpus = 2});
  auto one = ray::make_actor<recorder>();
  auto caller = ray::remote([](const ray::actor<recorder>& to, int from) {
    for (int i = 0; i < 200; ++i) {
      if (i % 5 == 0) {
        (void)to.call(&recorder::note, ray::remote([](int n) { return n; })(from * 1000 + i));
      } else {
        (void)to.call(&recorder::note, from * 1000 + i);
      }
    }
    to.call(&recorder::all).wait();
  });
  std::vector<ray::future<void>> callers;
  for (int from = 0; from < 8; ++from) callers.push_back(caller(one, from));
  ray::get(callers);
  const auto order = one.call(&recorder::all).get();
  REQUIRE(order.size() == 1600);
  std::vector<int> next(8, 0);
  for (const int n : order) {
    CHECK(n % 1000 == next[static_cast<std::size_t>(n / 1000)]);
    ++next[static_cast<std::size_t>(n / 1000)];
  }
}

TEST_CASE("one call at a time, const or not") {
  auto session = ray::init({.num_cpus = 2});
  auto one = ray::make_actor<recorder>();
  const gate at;
  auto first = one.call(&recorder::wait_and_note, at, 1);
  auto second = one.call(&recorder::all);
  at.await();
  CHECK_FALSE(second.wait_for(std::chrono::milliseconds(5)));
  at.open();
  CHECK(second.get() == std::vector{1});
}

TEST_CASE(
    "handles travel, compare, hash, and keep the actor; the last one ends it after its calls") {
  auto session = ray::init({.num_cpus = 1});
  auto one = ray::make_actor<counter>(1);
  auto same = one;
  auto other = ray::make_actor<counter>(2);
  CHECK(one == same);
  CHECK(one != other);
  CHECK(one.id() == same.id());
  CHECK(std::unordered_set<ray::actor<counter>>{one, same, other}.size() == 2);
  auto through = ray::remote([](ray::actor<counter> it) { return it; })(one).get();
  CHECK(through == one);
  auto stored = ray::put(std::vector{one, other});
  one = {};
  same = {};
  through = {};
  CHECK(ray::get(stored)[0].call(&counter::add, 1).get() == 2);

  const gate at;
  auto brief = ray::make_actor<recorder>();
  (void)brief.call(&recorder::wait_and_note, at, 1);
  auto last = brief.call(&recorder::all);
  brief = {};
  at.await();
  at.open();
  CHECK(last.get() == std::vector{1});
}

TEST_CASE("a handle of no actor") {
  auto session = ray::init({.num_cpus = 1});
  const ray::actor<counter> none;
  CHECK_FALSE(none.valid());
  CHECK(none == ray::actor<counter>());
  CHECK_THROWS_AS((void)none.call(&counter::value), ray::usage_error);
  CHECK_THROWS_AS((void)none.id(), ray::usage_error);
  CHECK_THROWS_AS((void)none.ready(), ray::usage_error);
  CHECK_THROWS_AS(none.kill(), ray::usage_error);
  CHECK_FALSE(ray::remote([](const ray::actor<counter>& it) { return it.valid(); })(none).get());
}

TEST_CASE("kill ends what runs and what waits, and stays") {
  auto session = ray::init({.num_cpus = 1});
  auto one = ray::make_actor<recorder>();
  const gate at;
  auto runs = one.call(&recorder::wait_and_note, at, 1);
  auto waits = one.call(&recorder::all);
  at.await();
  one.kill();
  CHECK_THROWS_AS(runs.get(), ray::actor_died_error);
  CHECK_THROWS_AS(waits.get(), ray::actor_died_error);
  CHECK_THROWS_AS(one.call(&recorder::all).get(), ray::actor_died_error);
  one.kill();
  CHECK(one.valid());
}

TEST_CASE("exit_actor returns from the method and ends the actor after this call") {
  auto session = ray::init({.num_cpus = 1});
  auto one = ray::make_actor<counter>(1);
  auto left = one.call(&counter::leave);
  auto after = one.call(&counter::value);
  left.get();
  CHECK(contains(text_of<ray::actor_died_error>([&] { after.get(); }), "exit_actor"));
  CHECK_THROWS_AS(one.call(&counter::value).get(), ray::actor_died_error);
  CHECK_THROWS_AS(ray::exit_actor(), ray::usage_error);
  CHECK_THROWS_AS(ray::remote([] { ray::exit_actor(); })().get(), ray::usage_error);
}

TEST_CASE("actors make actors and tasks, and hold handles of each other") {
  struct node {
    ray::actor<node> peer;
    int hops = 0;
    void meet(ray::actor<node> other) { peer = std::move(other); }
    ray::task<int> pass(int left) {
      ++hops;
      if (left == 0) co_return 0;
      co_return 1 + co_await peer.call(&node::pass, left - 1);
    }
    int children(int n) {
      std::vector<ray::actor<counter>> made;
      for (int i = 0; i < n; ++i) made.push_back(ray::make_actor<counter>(i));
      int sum = 0;
      for (const auto& one : made) sum += one.call(&counter::value).get();
      return sum + ray::remote([](int x) { return x; })(100).get();
    }
  };
  auto session = ray::init({.num_cpus = 1});
  auto one = ray::make_actor<node>();
  auto two = ray::make_actor<node>();
  one.call(&node::meet, two).get();
  two.call(&node::meet, one).get();
  CHECK(one.call(&node::pass, 1).get() == 1);
  CHECK(two.call(&node::children, 10).get() == 145);
}

TEST_CASE("a method that waits for a call of its own actor is told that it never begins") {
  struct selfish {
    ray::actor<selfish> self;
    void know(ray::actor<selfish> me) { self = std::move(me); }
    int one() { return 1; }
    int blocks() { return self.call(&selfish::one).get(); }
    ray::task<int> suspends() { co_return co_await self.call(&selfish::one); }
  };
  auto session = ray::init({.num_cpus = 2});
  auto it = ray::make_actor<selfish>();
  it.call(&selfish::know, it).get();
  CHECK(contains(text_of<ray::usage_error>([&] { it.call(&selfish::blocks).get(); }), "own actor"));
  CHECK_THROWS_AS(it.call(&selfish::suspends).get(), ray::usage_error);
  CHECK(it.call(&selfish::one).get() == 1);
  auto wide = ray::make_actor<selfish>({.max_concurrency = 2});
  wide.call(&selfish::know, wide).get();
  CHECK(wide.call(&selfish::blocks).get() == 1);
  CHECK(wide.call(&selfish::suspends).get() == 1);
}

namespace {

struct starts_tasks {
  int value;
  starts_tasks() : value(ray::remote([] { return 7; })().get()) {}
  int get() const { return value; }
};

struct ends_itself_early {
  ends_itself_early() { ray::exit_actor(); }
  int method() { return 1; }
};

struct pings {
  int count = 0;
  int ping() { return ++count; }
};

}  // namespace

TEST_CASE("a constructor that starts tasks runs again at each restart") {
  auto session = ray::init({.num_cpus = 2});
  auto one = ray::make_actor<starts_tasks>({.max_restarts = -1});
  for (int i = 0; i < 20; ++i) {
    CHECK(one.call(&starts_tasks::get).get() == 7);
    one.kill({.restart = true});
  }
  one.ready().get();
}

TEST_CASE("exit_actor is for methods, not for constructors") {
  auto session = ray::init({.num_cpus = 1});
  auto one = ray::make_actor<ends_itself_early>();
  CHECK_THROWS_AS(one.ready().get(), ray::actor_died_error);
  CHECK_THROWS_AS(one.call(&ends_itself_early::method).get(), ray::actor_died_error);
}

TEST_CASE("a method may return the future of a call of its own actor") {
  auto session = ray::init({.num_cpus = 1});
  auto one = ray::make_actor<pings>();
  auto later = one.call([](pings&, ray::actor<pings> me) { return me.call(&pings::ping); }, one);
  CHECK(later.get() == 1);
}

TEST_CASE("a method that waits for its own actor's calls alone is told so") {
  auto session = ray::init({.num_cpus = 2});
  auto one = ray::make_actor<pings>();
  auto by_wait = one.call(
      [](pings&, ray::actor<pings> me) {
        const std::vector calls{me.call(&pings::ping)};
        return ray::wait(calls).ready.size();
      },
      one);
  CHECK_THROWS_AS(by_wait.get(), ray::usage_error);
  auto in_order = one.call(
      [](pings&, ray::actor<pings> me) {
        const std::vector calls{me.call(&pings::ping)};
        int sum = 0;
        for (auto& call : ray::as_completed(calls)) sum += call.get();
        return sum;
      },
      one);
  CHECK_THROWS_AS(in_order.get(), ray::usage_error);
}
