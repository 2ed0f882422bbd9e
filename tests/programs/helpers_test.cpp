// What stands on top of tasks and actors: loops, maps, pools of actors, queues, barriers.
#include "testing.hpp"

#include <atomic>
#include <chrono>
#include <concepts>
#include <latch>
#include <limits>
#include <memory>
#include <mutex>
#include <numeric>
#include <ranges>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace std::chrono_literals;
using programs::gate;
using programs::text_of;

int square(int x) { return x * x; }

struct worker {
  int calls = 0;
  int square(int x) {
    ++calls;
    return x * x;
  }
  std::string name(const std::string& text) const { return text + "!"; }
  int fail_on(int x) {
    if (x == 3) throw std::out_of_range("three");
    return x;
  }
};

}  // namespace

TEST_CASE("parallel_for calls the function once for each element, by reference") {
  auto session = ray::init({.num_cpus = 2});
  for (const std::size_t grain : {0u, 1u, 7u, 100'000u}) {
    std::vector<int> values(10'000);
    std::iota(values.begin(), values.end(), 0);
    ray::parallel_for(
        values, [](int& x) { x += 1; }, grain);
    long sum = 0;
    for (int x : values) sum += x;
    CHECK(sum == 50'005'000);
  }
  std::atomic<long> sum = 0;
  ray::parallel_for(std::views::iota(0, 1000), [&](int i) { sum += i; });
  CHECK(sum == 499'500);
  ray::parallel_for(std::vector<int>(), [](int) { FAIL("nothing to call it with"); });
}

TEST_CASE("parallel_for rethrows the first exception when all have stopped") {
  auto session = ray::init({.num_cpus = 2});
  std::atomic<int> running = 0;
  CHECK(text_of<std::domain_error>([&] {
          ray::parallel_for(
              std::views::iota(0, 1000),
              [&](int i) {
                ++running;
                const bool bad = i == 77;
                --running;
                if (bad) throw std::domain_error("at 77");
              },
              1);
        }) == "at 77");
  CHECK(running == 0);
}

TEST_CASE("loops nest, and run inside tasks") {
  auto session = ray::init({.num_cpus = 2});
  auto run = ray::remote([](int n) {
    std::atomic<int> count = 0;
    ray::parallel_for(std::views::iota(0, n), [&](int) {
      ray::parallel_for(std::views::iota(0, n), [&](int) {
        if (ray::remote(square)(1).get() == 1) ++count;
      });
    });
    return count.load();
  });
  CHECK(run(20).get() == 400);
}

TEST_CASE("transform_reduce keeps the order of its operands") {
  auto session = ray::init({.num_cpus = 2});
  const auto text = ray::transform_reduce(
      std::views::iota(0, 1000), std::string(">"),
      [](std::string a, const std::string& b) { return std::move(a) + b; },
      [](int i) { return std::to_string(i % 10); });
  REQUIRE(text.size() == 1001);
  CHECK(text.substr(0, 12) == ">01234567890");
  CHECK(ray::transform_reduce(std::vector<int>(), 5, std::plus<>(), square) == 5);
  const std::vector<double> values(100'000, 0.5);
  CHECK(ray::transform_reduce(values, 0.0, std::plus<>(), [](double x) { return 2 * x; }) ==
        100'000);
}

TEST_CASE("map spreads over tasks") {
  auto session = ray::init({.num_cpus = 2});
  auto futures = ray::map(std::views::iota(0, 100), square);
  static_assert(std::same_as<decltype(futures), std::vector<ray::future<int>>>);
  CHECK(ray::get(futures)[99] == 99 * 99);
  auto named = ray::remote([](int) { return ray::this_task::name(); }, {.name = "mapped"});
  CHECK(ray::get(ray::map(std::vector{1, 2}, named)) ==
        std::vector<std::string>{"mapped", "mapped"});
  CHECK(ray::get(ray::map(futures, [](int x) { return x + 1; }))[3] == 10);
  auto bound = ray::map(std::vector{1, 2}, ray::bind(std::minus<>(), 10));
  CHECK(ray::get(bound) == std::vector{9, 8});
}

TEST_CASE("an actor pool maps in order, or as they end") {
  auto session = ray::init({.num_cpus = 2});
  std::vector<ray::actor<worker>> actors;
  for (int i = 0; i < 3; ++i) actors.push_back(ray::make_actor<worker>());
  ray::actor_pool<worker> pool(actors);
  const std::vector<int> numbers{1, 2, 3, 4, 5, 6, 7};
  CHECK(pool.map(&worker::square, numbers) == std::vector{1, 4, 9, 16, 25, 36, 49});
  CHECK(pool.map([](worker& self, int x) { return self.square(x) + 1; }, numbers)[6] == 50);
  std::multiset<int> seen;
  auto unordered = pool.map_unordered(&worker::square, numbers);
  static_assert(std::ranges::input_range<decltype(unordered)>);
  for (int value : unordered) seen.insert(value);
  CHECK(seen == std::multiset<int>{1, 4, 9, 16, 25, 36, 49});
  CHECK_THROWS_AS((void)pool.map(&worker::fail_on, numbers), std::out_of_range);
  CHECK(pool.map(&worker::square, std::vector<int>()).empty());
  int calls = 0;
  for (const auto& one : actors) calls += one.call(&worker::calls).get();
  CHECK(calls == 21);
}

TEST_CASE("an actor pool takes calls one by one and gives the oldest result") {
  auto session = ray::init({.num_cpus = 2});
  ray::actor_pool<worker> pool({ray::make_actor<worker>(), ray::make_actor<worker>()});
  CHECK(pool.empty());
  for (int i = 0; i < 5; ++i) pool.submit(&worker::square, i);
  pool.submit(&worker::name, "text");
  for (int i = 0; i < 5; ++i) {
    CHECK_FALSE(pool.empty());
    const int value = pool.next();
    CHECK(value == i * i);
  }
  CHECK(pool.next<std::string>() == "text!");
  CHECK(pool.empty());
  CHECK_THROWS_AS((void)pool.next<int>(), ray::usage_error);
  CHECK_THROWS_AS(ray::actor_pool<worker>({}), ray::usage_error);
}

TEST_CASE("a pool's calls go to the least busy actor, and map does not pile them up") {
  // Both parts would wait for ever if calls went to the actors in turn.
  struct member {
    ray::queue<int> done;
    int wait_for(int others) {
      for (int i = 0; i < others; ++i) done.get();
      return 0;
    }
    int step(int n) {
      done.put(n);
      return n;
    }
    int step_or_wait(int n) { return n == 0 ? wait_for(8) : step(n); }
  };
  auto session = ray::init({.num_cpus = 2});
  const ray::queue<int> done(0);
  std::vector<ray::actor<member>> actors;
  for (int i = 0; i < 2; ++i) actors.push_back(ray::make_actor<member>(done));
  ray::actor_pool<member> pool(actors);

  pool.submit(&member::wait_for, 4);
  // The first actor is busy, and the second is not when its next call has begun and ended.
  for (int i = 1; i <= 3; ++i) {
    pool.submit(&member::step, i);
    actors[1].call([](member&) {}).get();
  }
  done.put(0);
  for (int i = 0; i <= 3; ++i) CHECK(pool.next<int>() == i);

  // One of the nine others may have been given to the actor whose call waits.
  const auto all = pool.map(&member::step_or_wait, std::views::iota(0, 10));
  CHECK(all == std::vector{0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
}

TEST_CASE("a queue is first in, first out, bounded, and travels") {
  auto session = ray::init({.num_cpus = 1});
  ray::queue<std::string> q(2);
  CHECK(q.try_put("a"));
  q.put("b");
  CHECK_FALSE(q.try_put("c"));
  CHECK(q.size() == 2);
  CHECK_THROWS_AS(q.put("c", 1ms), ray::timeout_error);
  CHECK(q.get() == "a");
  CHECK(q.try_get() == "b");
  CHECK(q.try_get() == std::nullopt);
  CHECK_THROWS_AS((void)q.get(1ms), ray::timeout_error);
  CHECK_THROWS_AS((void)q.get(0ns), ray::timeout_error);

  ray::queue<int> numbers(3);
  auto producer = ray::remote([](ray::queue<int> to, int n) {
    for (int i = 0; i < n; ++i) to.put(i);
    to.close();
  })(numbers, 1000);
  long sum = 0;
  try {
    while (true) sum += numbers.get();
  } catch (const ray::usage_error&) {
    // Closed and empty.
  }
  CHECK(sum == 499'500);
  producer.get();
  CHECK_FALSE(numbers.try_put(1));
  CHECK_THROWS_AS(numbers.put(1), ray::usage_error);
  CHECK(numbers == ray::remote([](ray::queue<int> same) { return same; })(numbers).get());
  CHECK_THROWS_AS((void)ray::queue<int>().size(), ray::usage_error);
  ray::queue<std::unique_ptr<int>> owners(0);
  owners.put(std::make_unique<int>(4));
  CHECK(*owners.get() == 4);
}

TEST_CASE("closing a queue wakes who waits") {
  auto session = ray::init({.num_cpus = 2});
  ray::queue<int> q(1);
  ray::queue<int> here(0);
  q.put(1);
  auto puts = ray::remote([](ray::queue<int> to, ray::queue<int> come) {
    come.put(1);
    to.put(2);
  })(q, here);
  here.get();
  q.close();
  CHECK_THROWS_AS(puts.get(), ray::usage_error);
  CHECK(q.get() == 1);
}

TEST_CASE("many writers and readers lose and invent nothing") {
  auto session = ray::init({.num_cpus = 2});
  ray::queue<int> q(5);
  std::vector<ray::future<void>> writers;
  std::vector<ray::future<long>> readers;
  for (int w = 0; w < 8; ++w) {
    writers.push_back(ray::remote([](ray::queue<int> to) {
      for (int i = 1; i <= 100; ++i) to.put(i);
    })(q));
    readers.push_back(ray::remote([](ray::queue<int> from) {
      long sum = 0;
      for (int i = 0; i < 100; ++i) sum += from.get();
      return sum;
    })(q));
  }
  long sum = 0;
  for (long one : ray::get(readers)) sum += one;
  ray::get(writers);
  CHECK(sum == 8 * 5050);
  CHECK(q.size() == 0);
}

TEST_CASE("a barrier lets all go when the last has come, again and again, on one CPU") {
  auto session = ray::init({.num_cpus = 1});
  ray::barrier b(4);
  static std::atomic<int> phase_sum;
  phase_sum = 0;
  auto member = ray::remote([](ray::barrier meet) {
    bool right = true;
    for (int round = 1; round <= 50; ++round) {
      ++phase_sum;
      meet.arrive_and_wait();
      right = right && phase_sum >= 4 * round;
      meet.arrive_and_wait();
    }
    return right;
  });
  std::vector<ray::future<bool>> all;
  for (int i = 0; i < 4; ++i) all.push_back(member(b));
  for (bool right : ray::get(all)) CHECK(right);
  CHECK_THROWS_AS(ray::barrier(0), ray::usage_error);
  CHECK_THROWS_AS(ray::barrier().arrive_and_wait(), ray::usage_error);
  ray::barrier(1).arrive_and_wait();
}

TEST_CASE("parallel_for with a grain beyond everything is one chunk") {
  auto session = ray::init({.num_cpus = 2});
  std::vector<int> numbers(100, 0);
  ray::parallel_for(
      numbers, [](int& x) { ++x; }, std::numeric_limits<std::size_t>::max());
  CHECK(numbers == std::vector<int>(100, 1));
}

TEST_CASE("a cancelled task's parallel_for begins no further chunk") {
  auto session = ray::init({.num_cpus = 2});
  static std::atomic<bool> cancelled{false};
  static std::atomic<int> after{0};
  static std::latch begun(1);
  auto loop = ray::remote([] {
    std::vector<int> numbers(10'000);
    ray::parallel_for(
        numbers,
        [](int& x) {
          x = 1;
          if (cancelled) ++after;
          static std::once_flag once;
          std::call_once(once, [] { begun.count_down(); });
          while (!cancelled) std::this_thread::yield();
        },
        1);
  })();
  begun.wait();
  ray::cancel(loop);
  cancelled = true;
  CHECK_THROWS_AS(loop.get(), ray::cancelled_error);
  ray::shutdown();
  CHECK(after <= 2);  // what each thread had begun
}

TEST_CASE("parallel_for on a thread outside while the session ends returns when all have stopped") {
  for (int round = 0; round < 10; ++round) {
    std::latch begun(1);
    std::thread outside;
    {
      auto session = ray::init({.num_cpus = 2});
      outside = std::thread([&] {
        std::vector<int> numbers(1'000);
        try {
          ray::parallel_for(
              numbers,
              [&](int& x) {
                if (x++ == 0 && &x == &numbers[0]) begun.count_down();
                std::this_thread::yield();
              },
              1);
        } catch (const ray::usage_error&) {
        }
      });
      begun.wait();
    }
    outside.join();
  }
}
