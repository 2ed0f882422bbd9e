// Cancelling: what waits, what runs, what has ended, what a task has started, and timeouts.
#include "testing.hpp"

#include <atomic>
#include <chrono>
#include <latch>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace std::chrono_literals;
using programs::contains;
using programs::gate;
using programs::text_of;

int pass_then(const gate& at, int x) {
  at.pass();
  return x;
}
int plain(int x) { return x; }

std::atomic<int> stopped = 0;

/// Says that it is here and waits until it is asked to stop, as a task that computes would.
int until_stopped(const ray::queue<int>& here) {
  here.put(1);
  const auto token = ray::this_task::stop_token();
  while (!token.stop_requested()) std::this_thread::yield();
  ++stopped;
  stopped.notify_all();
  return 1;
}

}  // namespace

TEST_CASE("what waits is dropped, and its dependents fail with it") {
  auto session = ray::init({.num_cpus = 1});
  const gate at;
  auto first = ray::remote(pass_then)(at, 1);
  at.await();
  auto waits = ray::remote(plain, {.name = "patient"})(first);
  auto dependent = ray::remote(plain)(waits);
  CHECK_FALSE(waits.ready());
  ray::cancel(waits);
  CHECK(waits.ready());
  CHECK(contains(text_of<ray::cancelled_error>([&] { waits.get(); }), "patient"));
  CHECK_THROWS_AS(dependent.get(), ray::cancelled_error);
  at.open();
  CHECK(first.get() == 1);
}

TEST_CASE("what runs is asked to stop, and its future ends at once") {
  auto session = ray::init({.num_cpus = 1});
  stopped = 0;
  ray::queue<int> here(0);
  auto runs = ray::remote(until_stopped)(here);
  here.get();
  CHECK_FALSE(runs.ready());
  ray::cancel(runs);
  CHECK(runs.ready());
  CHECK(runs.failed());
  CHECK_THROWS_AS(runs.get(), ray::cancelled_error);
  stopped.wait(0);  // what it returns afterwards is dropped
  CHECK(ray::remote(plain)(5).get() == 5);
  CHECK_THROWS_AS(runs.get(), ray::cancelled_error);
}

TEST_CASE("the blocking waits of a cancelled task throw") {
  auto session = ray::init({.num_cpus = 2});
  ray::queue<int> here(0);
  ray::queue<std::string> told(0);
  ray::queue<int> never(0);
  auto waits = ray::remote([](const ray::queue<int>& come, const ray::queue<std::string>& tell,
                              const ray::queue<int>& nothing) {
    come.put(1);
    try {
      nothing.get();
    } catch (const ray::cancelled_error& error) {
      tell.put(error.what());
    }
    // Every later wait, too.
    try {
      ray::get(ray::remote([](const ray::queue<int>& one) { return one.get(); })(nothing));
    } catch (const ray::cancelled_error& error) {
      tell.put(error.what());
    }
  })(here, told, never);
  here.get();
  ray::cancel(waits);
  CHECK_FALSE(told.get().empty());
  CHECK_FALSE(told.get().empty());
}

TEST_CASE("a get inside a cancelled task ends, though what it waits for goes on") {
  auto session = ray::init({.num_cpus = 2});
  const gate at;
  ray::queue<int> told(0);
  auto other = ray::remote(pass_then)(at, 1);
  at.await();
  auto waits = ray::remote([](const ray::queue<int>& tell, const ray::future<int>& one) {
    tell.put(1);
    try {
      ray::get(one);
    } catch (const ray::cancelled_error&) {
      tell.put(2);
      throw;
    }
  })(told, other);
  CHECK(told.get() == 1);
  ray::cancel(waits);
  CHECK(told.get() == 2);
  CHECK_FALSE(other.ready());
  at.open();
  CHECK(other.get() == 1);
}

TEST_CASE("cancelling what has ended does nothing, and twice is once") {
  auto session = ray::init({.num_cpus = 1});
  auto done = ray::remote(plain)(3);
  CHECK(done.get() == 3);
  ray::cancel(done);
  ray::cancel(done, {.force = true});
  CHECK(done.get() == 3);
  auto stored = ray::put(4);
  ray::cancel(stored);
  CHECK(stored.get() == 4);
  const gate at;
  auto runs = ray::remote(pass_then)(at, 1);
  at.await();
  ray::cancel(runs);
  ray::cancel(runs);
  CHECK_THROWS_AS(runs.get(), ray::cancelled_error);
}

TEST_CASE("children are cancelled too, unless .recursive is false") {
  auto session = ray::init({.num_cpus = 2});
  for (const bool recursive : {true, false}) {
    CAPTURE(recursive);
    const gate at;
    ray::queue<ray::future<int>> children(0);
    auto parent = ray::remote([](const gate& where, const ray::queue<ray::future<int>>& tell) {
      auto child = ray::remote(pass_then)(where, 1);
      tell.put(child);
      return child.get();
    })(at, children);
    auto child = children.get();
    at.await();
    ray::cancel(parent, {.recursive = recursive});
    CHECK_THROWS_AS(parent.get(), ray::cancelled_error);
    at.open();
    if (recursive) {
      CHECK_THROWS_AS(child.get(), ray::cancelled_error);
    } else {
      CHECK(child.get() == 1);
    }
  }
}

TEST_CASE("a child that a cancelled task starts afterwards is cancelled") {
  auto session = ray::init({.num_cpus = 2});
  static std::latch cancelled(1);
  ray::queue<int> here(0);
  ray::queue<ray::future<int>> children(0);
  auto parent =
      ray::remote([](const ray::queue<int>& come, const ray::queue<ray::future<int>>& tell) {
        come.put(1);
        cancelled.wait();
        try {
          (void)tell.try_put(ray::remote(plain)(1));
        } catch (const ray::cancelled_error&) {
          (void)tell.try_put({});
        }
      })(here, children);
  here.get();
  ray::cancel(parent);
  cancelled.count_down();
  auto child = children.get();
  if (child.valid()) CHECK_THROWS_AS(child.get(), ray::cancelled_error);
}

TEST_CASE("an actor's call can be cancelled, waiting or running; the actor lives on") {
  struct worker {
    int done = 0;
    int work(const gate& at) {
      at.pass();
      return ++done;
    }
    int quick() { return ++done; }
  };
  auto session = ray::init({.num_cpus = 2});
  auto one = ray::make_actor<worker>();
  const gate at;
  auto runs = one.call(&worker::work, at);
  auto waits = one.call(&worker::quick);
  auto after = one.call(&worker::quick);
  at.await();
  ray::cancel(waits);
  CHECK_THROWS_AS(waits.get(), ray::cancelled_error);
  ray::cancel(runs);
  CHECK_THROWS_AS(runs.get(), ray::cancelled_error);
  CHECK(after.get() == 1);
}

TEST_CASE("a task that takes longer than its timeout ends with timeout_error") {
  auto session = ray::init({.num_cpus = 1});
  stopped = 0;
  ray::queue<int> here(0);
  auto late = ray::remote(until_stopped, {.name = "slow", .timeout = 5ms})(here);
  const std::string text = text_of<ray::timeout_error>([&] { late.get(); });
  CHECK(contains(text, "slow"));
  CHECK(contains(text, "5 ms"));
  stopped.wait(0);
  // Its blocking waits throw the same.
  ray::queue<int> never(0);
  ray::queue<std::string> told(0);
  auto waits = ray::remote(
      [](const ray::queue<int>& nothing, const ray::queue<std::string>& tell) {
        try {
          nothing.get();
        } catch (const ray::timeout_error& error) {
          tell.put(error.what());
        }
      },
      {.timeout = 5ms})(never, told);
  CHECK_FALSE(told.get().empty());
  CHECK_THROWS_AS(waits.get(), ray::timeout_error);
}

TEST_CASE("the timeout counts from the start of the function") {
  auto session = ray::init({.num_cpus = 1});
  static std::latch release(1);
  ray::queue<int> here(0);
  auto holds = ray::remote([](const ray::queue<int>& come) {
    come.put(1);
    release.wait();
  })(here);
  here.get();
  auto queued = ray::remote(plain, {.timeout = 200ms})(7);
  CHECK_FALSE(queued.wait_for(250ms));  // it waits for the slot, and is not late
  release.count_down();
  CHECK(queued.get() == 7);
}

TEST_CASE("a thousand cancelled at random leave nothing behind") {
  auto session = ray::init({.num_cpus = 2});
  auto tree = ray::remote([](int depth) {
    auto grow = [](auto self, int left) -> int {
      if (left == 0) return 1;
      auto child = ray::remote(
          [](int n) { return n == 0 ? 1 : 1 + ray::remote(plain)(n - 1).get(); })(left - 1);
      return child.get() + self(self, left - 1);
    };
    return grow(grow, depth);
  });
  std::vector<ray::future<int>> all;
  for (int i = 0; i < 1000; ++i) {
    all.push_back(tree(i % 7));
    if (i % 3 == 0) ray::cancel(all[static_cast<std::size_t>(i / 2)]);
  }
  for (auto& one : all) {
    one.wait();
    if (one.failed()) CHECK_THROWS_AS(one.get(), ray::cancelled_error);
  }
  CHECK(tree(3).get() > 0);
}

TEST_CASE("the end of the session asks what runs to stop, and drops what waits") {
  stopped = 0;
  ray::future<int> runs;
  ray::future<int> waits;
  {
    auto session = ray::init({.num_cpus = 1});
    ray::queue<int> here(0);
    runs = ray::remote(until_stopped)(here);
    here.get();
    waits = ray::remote(plain)(1);
  }
  CHECK(stopped == 1);
  CHECK_THROWS_AS(runs.get(), ray::usage_error);
  CHECK_THROWS_AS(waits.get(), ray::usage_error);
}
