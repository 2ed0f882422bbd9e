// Coroutine tasks: they suspend without a thread, keep their arguments, pass errors on.
#include "testing.hpp"

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using programs::gate;
using programs::text_of;

int plain(int x) { return x; }
int pass_then(const gate& at, int x) {
  at.pass();
  return x;
}

/// Alive until it is destroyed, and says so.
struct living {
  int value = 7;
  living() = default;
  living(int number) : value(number) {}
  living(const living&) = default;
  ~living() { value = -1; }
  template <typename Archive>
  void serialize(Archive& archive) {
    archive(value);
  }
};

ray::task<int> twice(int x) { co_return 2 * co_await ray::remote(plain)(x); }
ray::task<int> sum_to(int n) {
  if (n == 0) co_return 0;
  co_return n + co_await sum_to(n - 1);
}
ray::task<> nothing() { co_return; }
ray::task<int> throws_after_await() {
  co_await ray::remote(plain)(1);
  throw std::domain_error("after the await");
}
ray::task<int> reads(const living& one, const gate& at) {
  at.pass();
  co_await ray::remote(plain)(1);
  co_return one.value;
}
ray::task<int> awaits(const ray::future<int> one) { co_return co_await one; }

}  // namespace

TEST_CASE("a coroutine awaits futures and other coroutines") {
  auto session = ray::init({.num_cpus = 1});
  auto result = ray::remote(twice)(21);
  static_assert(std::is_same_v<decltype(result), ray::future<int>>);
  CHECK(result.get() == 42);
  CHECK(ray::remote(sum_to)(100).get() == 5050);
  ray::remote(nothing)().get();
  auto mixed = ray::remote([]() -> ray::task<std::string> {
    co_await nothing();
    const int four = co_await twice(2);
    const auto [a, b] = co_await ray::when_all(ray::put(1), ray::put(std::string("b")));
    co_await ray::remote([] {})();
    co_return b + std::to_string(a + four);
  });
  CHECK(mixed().get() == "b5");
  auto flattened = ray::remote([]() -> ray::task<ray::future<int>> { co_return ray::put(3); })();
  static_assert(std::is_same_v<decltype(flattened), ray::future<int>>);
  CHECK(flattened.get() == 3);
}

TEST_CASE("errors pass through awaits, and can be caught there") {
  auto session = ray::init({.num_cpus = 1});
  CHECK(text_of<std::domain_error>([] { ray::remote(throws_after_await)().get(); }) ==
        "after the await");
  auto outer = ray::remote([]() -> ray::task<int> { co_return co_await throws_after_await(); });
  CHECK_THROWS_AS(outer().get(), std::domain_error);
  auto catches = ray::remote([]() -> ray::task<int> {
    int caught = 0;
    try {
      co_await throws_after_await();
    } catch (const std::domain_error&) {
      ++caught;
    }
    try {
      co_await ray::remote([]() -> int { throw std::out_of_range("task"); })();
    } catch (const std::out_of_range&) {
      ++caught;
    }
    co_return caught;
  });
  CHECK(catches().get() == 2);
  auto empty = ray::remote([]() -> ray::task<int> { co_return co_await ray::future<int>(); });
  CHECK_THROWS_AS(empty().get(), ray::usage_error);
}

TEST_CASE("arguments, bound values and the function live until the coroutine has ended") {
  auto session = ray::init({.num_cpus = 1});
  {
    const gate at;
    auto result = ray::remote(reads)(living(), at);
    at.await();
    at.open();
    CHECK(result.get() == 7);
  }
  {
    const gate at;
    auto stored = ray::put(living(8));
    auto result = ray::remote(reads)(std::move(stored), at);
    at.await();
    at.open();
    CHECK(result.get() == 8);
  }
  {
    // A reference to what is made of the future's value.
    const gate at;
    auto result = ray::remote(reads)(ray::put(9), at);
    at.await();
    at.open();
    CHECK(result.get() == 9);
  }
  auto bound = ray::remote(ray::bind(
      [](const std::string& text, int n) -> ray::task<std::string> {
        co_await ray::remote(plain)(n);
        co_return text + std::to_string(n);
      },
      "a text too long to be kept in place by the string"));
  CHECK(bound(1).get() == "a text too long to be kept in place by the string1");
}

TEST_CASE("ten thousand coroutines wait at once without a thread each") {
  auto session = ray::init({.num_cpus = 1});
  const gate at;
  auto late = ray::remote(pass_then)(at, 1);
  at.await();
  std::vector<ray::future<int>> all;
  auto run = ray::remote(awaits);
  for (int i = 0; i < 10'000; ++i) all.push_back(run(late));
  // All have begun and suspended, or wait; another task gets through beside them.
  CHECK(ray::remote(plain)(2).get() == 2);
  at.open();
  int sum = 0;
  for (int one : ray::get(all)) sum += one;
  CHECK(sum == 10'000);
}

TEST_CASE("a long loop of awaits needs no deep stack") {
  auto session = ray::init({.num_cpus = 1});
  auto loop = ray::remote([](int n) -> ray::task<long> {
    long sum = 0;
    for (int i = 0; i < n; ++i) {
      sum += co_await ray::remote(plain)(1);
      sum += co_await ray::put(1);
    }
    co_return sum;
  });
  CHECK(loop(50'000).get() == 100'000);
  CHECK(ray::remote(sum_to)(10'000).get() == 50'005'000);
}

TEST_CASE("await of an rvalue moves, and works on what cannot be copied") {
  auto session = ray::init({.num_cpus = 1});
  auto run = ray::remote([]() -> ray::task<int> {
    auto owner = ray::remote([] { return std::make_unique<int>(4); })();
    const auto value = co_await std::move(owner);
    co_return *value;
  });
  CHECK(run().get() == 4);
}

TEST_CASE("a cancelled coroutine is cancelled where it waits, and frees what it holds") {
  auto session = ray::init({.num_cpus = 1});
  const gate at;
  auto late = ray::remote(pass_then)(at, 1);
  at.await();
  ray::queue<int> told(0);
  auto run = ray::remote([](ray::future<int> one, ray::queue<int> tell) -> ray::task<int> {
    tell.put(1);
    try {
      co_return co_await one;
    } catch (const ray::cancelled_error&) {
      tell.put(2);
      throw;
    }
  })(late, told);
  CHECK(told.get() == 1);
  ray::cancel(run);
  CHECK(run.ready());
  CHECK_THROWS_AS(run.get(), ray::cancelled_error);
  CHECK(told.get() == 2);  // though what it awaits goes on
  CHECK_FALSE(late.ready());
  at.open();
  CHECK(late.get() == 1);
}

TEST_CASE("a coroutine's timeout, retries and this_task") {
  auto session = ray::init({.num_cpus = 1});
  const gate at;
  auto late = ray::remote(pass_then)(at, 1);
  at.await();
  auto run = ray::remote(awaits, {.timeout = std::chrono::milliseconds(5)});
  CHECK_THROWS_AS(run(late).get(), ray::timeout_error);
  at.open();
  auto again = ray::remote(
      [](const std::string& text) -> ray::task<std::string> {
        const auto before = ray::this_task::id();
        co_await ray::remote(plain)(1);
        if (ray::this_task::id() != before) co_return "another task";
        if (ray::this_task::attempt() < 2) throw std::runtime_error("again");
        co_return text + ray::this_task::name();
      },
      {.name = "tries", .retry_exceptions = ray::retry::always});
  CHECK(again("it ").get() == "it tries");
}

TEST_CASE("a suspended method counts as running; max_concurrency lets others in") {
  struct server {
    int begun = 0;
    ray::task<int> serve(ray::future<int> one) {
      ++begun;
      const int value = co_await one;
      co_return value + begun;
    }
    int count() const { return begun; }
  };
  auto session = ray::init({.num_cpus = 2});
  const gate at;
  auto late = ray::remote(pass_then)(at, 10);
  at.await();
  auto one = ray::make_actor<server>();
  auto served = one.call(&server::serve, late);
  auto count = one.call(&server::count);
  CHECK_FALSE(count.wait_for(std::chrono::milliseconds(5)));
  auto wide = ray::make_actor<server>({.max_concurrency = 3});
  auto first = wide.call(&server::serve, late);
  auto second = wide.call(&server::serve, late);
  at.open();
  CHECK(served.get() == 11);
  CHECK(count.get() == 1);
  CHECK(first.get() >= 11);
  CHECK(second.get() >= 11);
}

TEST_CASE("sessions end while coroutines wait") {
  for (int round = 0; round < 20; ++round) {
    ray::future<int> last;
    {
      auto session = ray::init({.num_cpus = 1});
      ray::queue<int> never(0);
      auto stuck = ray::remote([](const ray::queue<int>& none) { return none.get(); })(never);
      for (int i = 0; i < 20; ++i) last = ray::remote(awaits)(stuck);
    }
    CHECK_THROWS_AS(last.get(), ray::usage_error);
  }
}
