// Tasks: what can be one, what they return and throw, and what they know of themselves.
#include "testing.hpp"

#include <atomic>
#include <complex>
#include <functional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

namespace programs {

struct bad_order : std::runtime_error {
  using runtime_error::runtime_error;
};
struct unknown_error : std::runtime_error {
  using runtime_error::runtime_error;
};
struct coded_error : std::runtime_error {
  explicit coded_error(int number = 0) : runtime_error("coded"), code(number) {}
  int code;
  template <typename Archive>
  void serialize(Archive& archive) {
    archive(code);
  }
};

}  // namespace programs

RAY_EXCEPTION(programs::bad_order)
RAY_EXCEPTION(programs::coded_error)

namespace {

using programs::contains;
using programs::text_of;

int square(int x) { return x * x; }
int careful(int x) noexcept { return x + 1; }
const std::string& global_text() {
  static const std::string text = "referred to";
  return text;
}

struct account {
  int balance = 0;
  int after(int amount) const { return balance + amount; }
  int changed(int amount) { return balance += amount; }
};

struct scaled {
  double factor = 1;
  double operator()(double x) const { return factor * x; }
  template <typename Archive>
  void serialize(Archive& archive) {
    archive(factor);
  }
};

struct overloaded {
  int operator()(int x) const { return x; }
  std::string operator()(const std::string& text) const { return text + "!"; }
};

template <typename Error, typename... Arguments>
void throws(std::string text) {
  throw Error(text);
}

template <typename Error>
void check_type_kept() {
  auto failed = ray::remote(throws<Error>)("because");
  const std::string text = text_of<Error>([&] { failed.get(); });
  CHECK(contains(text, "because"));
}

}  // namespace

TEST_CASE("anything that std::invoke calls can be a task") {
  auto session = ray::init({.num_cpus = 2});
  CHECK(ray::remote(square)(7).get() == 49);
  CHECK(ray::remote(&square)(7).get() == 49);
  CHECK(ray::remote(careful)(7).get() == 8);
  CHECK(ray::remote([](int x) { return x + 1; })(7).get() == 8);
  CHECK(ray::remote([](auto x, auto y) { return x + y; })(7, 0.5).get() == 7.5);
  CHECK(ray::remote(std::plus<>())(7, 8).get() == 15);
  CHECK(ray::remote(std::plus<int>())(7, 8).get() == 15);
  CHECK(ray::remote(scaled{3})(2).get() == 6);
  CHECK(ray::remote(overloaded())(2).get() == 2);
  CHECK(ray::remote(overloaded())("two").get() == "two!");
  CHECK(ray::remote(&account::after)(account{10}, 5).get() == 15);
  CHECK(ray::remote(&account::changed)(account{10}, 5).get() == 15);
  CHECK(ray::remote(&account::balance)(account{10}).get() == 10);
  CHECK(ray::remote(&account::after)(ray::put(account{20}), 5).get() == 25);
}

TEST_CASE("bind puts values in front of the arguments") {
  auto session = ray::init({.num_cpus = 1});
  CHECK(ray::remote(ray::bind(square, 6))().get() == 36);
  auto sum = ray::bind([](const std::vector<int>& values, int x) { return values.at(1) + x; },
                       std::vector{1, 2});
  auto run = ray::remote(sum);
  CHECK(run(5).get() == 7);
  CHECK(run(ray::put(6)).get() == 8);  // each call works on a copy
  CHECK(ray::remote(ray::bind([](auto a, auto b) { return a + b; }, "x"))("y").get() == "xy");
  CHECK(ray::remote(ray::bind(&account::after, account{1}))(2).get() == 3);
  CHECK(ray::remote(ray::bind(ray::bind(std::minus<>(), 10), 3))().get() == 7);
  auto owner =
      ray::remote(ray::bind([](std::unique_ptr<int> n) { return *n; }, std::make_unique<int>(3)));
  CHECK(owner().get() == 3);
  CHECK(owner().get() == 3);
  // A bound future stays a handle where the parameter is one.
  auto later = ray::bind([](ray::future<int> one) { return ray::get(one); }, ray::put(9));
  CHECK(ray::remote(later)().get() == 9);
}

TEST_CASE("results: nothing, copies of references, futures flattened to any depth") {
  auto session = ray::init({.num_cpus = 1});
  static_assert(std::is_same_v<decltype(ray::remote([] {})()), ray::future<void>>);
  auto text = ray::remote(global_text)();
  static_assert(std::is_same_v<decltype(text), ray::future<std::string>>);
  CHECK(text.get() == "referred to");
  auto flat = ray::remote([](int x) { return ray::remote(square)(x); })(3);
  static_assert(std::is_same_v<decltype(flat), ray::future<int>>);
  CHECK(flat.get() == 9);
  auto deep = ray::remote([] {
    return ray::remote([] { return ray::remote([] { return ray::remote(square)(4); })(); })();
  })();
  static_assert(std::is_same_v<decltype(deep), ray::future<int>>);
  CHECK(deep.get() == 16);
  auto empty = ray::remote([] { return ray::future<int>(); })();
  CHECK_THROWS_AS(empty.get(), ray::usage_error);
  auto owner = ray::remote([] { return std::make_unique<int>(5); })();
  CHECK(*std::move(owner).get() == 5);
}

TEST_CASE("standard and ray's own exceptions keep their type") {
  auto session = ray::init({.num_cpus = 1});
  check_type_kept<std::runtime_error>();
  check_type_kept<std::logic_error>();
  check_type_kept<std::invalid_argument>();
  check_type_kept<std::out_of_range>();
  check_type_kept<std::overflow_error>();
  check_type_kept<ray::usage_error>();
  check_type_kept<ray::object_lost_error>();
  check_type_kept<ray::connection_error>();
  CHECK_THROWS_AS(ray::remote([] { throw std::bad_alloc(); })().get(), std::bad_alloc);
  auto coded = ray::remote([] { throw std::system_error(ENOENT, std::generic_category()); })();
  try {
    coded.get();
    FAIL("nothing was thrown");
  } catch (const std::system_error& error) {
    CHECK(error.code().value() == ENOENT);
  }
}

TEST_CASE("a named exception keeps its type, another becomes a task_error that says which") {
  auto session = ray::init({.num_cpus = 1});
  check_type_kept<programs::bad_order>();
  auto coded = ray::remote([] { throw programs::coded_error(42); })();
  try {
    coded.get();
    FAIL("nothing was thrown");
  } catch (const programs::coded_error& error) {
    CHECK(error.code == 42);
  }
  auto unknown = ray::remote(throws<programs::unknown_error>)("strange");
  const std::string text = text_of<ray::task_error>([&] { unknown.get(); });
  CHECK(contains(text, "unknown_error"));
  CHECK(contains(text, "strange"));
  auto number = ray::remote([] { throw 42; })();
  CHECK(contains(text_of<ray::task_error>([&] { number.get(); }), "int"));
}

TEST_CASE("a failed argument fails the task with the same error, through every kind of chain") {
  auto session = ray::init({.num_cpus = 1});
  auto bad = ray::remote([]() -> int { throw programs::bad_order("no such order"); })();
  CHECK_THROWS_AS(ray::remote(square)(bad).get(), programs::bad_order);
  CHECK_THROWS_AS(ray::remote(square)(ray::remote(square)(bad)).get(), programs::bad_order);
  CHECK_THROWS_AS(ray::remote([](auto x) { return x; })(bad).get(), programs::bad_order);
  auto handle = ray::remote([](const ray::future<int>& one) { return one.failed(); })(bad);
  CHECK(handle.get());
  CHECK_THROWS_AS(ray::remote([](ray::future<int> one) { return one; })(bad).get(),
                  programs::bad_order);
}

TEST_CASE("a task knows itself") {
  auto session = ray::init({.num_cpus = 2, .resources = {{"disk", 4}}});
  auto about = ray::remote(
      [] {
        return std::tuple(ray::this_task::id(), ray::this_task::name(), ray::this_task::attempt(),
                          ray::this_task::resources(), ray::this_task::gpu_ids().size());
      },
      {.num_cpus = 0.5, .memory = 100, .resources = {{"disk", 1.5}}, .name = "about me"});
  const auto [id, name, attempt, resources, gpus] = about().get();
  CHECK(name == "about me");
  CHECK(attempt == 0);
  CHECK(gpus == 0);
  CHECK(resources.at("CPU") == 0.5);
  CHECK(resources.at("memory") == 100);
  CHECK(resources.at("disk") == 1.5);
  CHECK(std::get<0>(about().get()) != id);
  CHECK(id != ray::this_task::id());

  CHECK(ray::this_task::name() == "driver");
  CHECK(ray::this_task::attempt() == 0);
  CHECK_FALSE(ray::this_task::stop_token().stop_requested());
  CHECK(ray::this_task::node() == ray::this_node().id);
  CHECK(ray::remote([] { return ray::this_task::node(); })().get() == ray::this_node().id);
  const std::string plain = ray::remote([] { return ray::this_task::name(); })().get();
  CHECK_FALSE(plain.empty());
  CHECK(ray::remote([] { return ray::this_task::resources(); })().get().at("CPU") == 1);
}

TEST_CASE("tasks make tasks and wait for them, in any thread too") {
  auto session = ray::init({.num_cpus = 1});
  struct tree {
    static long leaves(int depth) {
      if (depth == 0) return 1;
      auto run = ray::remote(leaves);
      auto left = run(depth - 1);
      auto right = run(depth - 1);
      return ray::get(left) + ray::get(right);
    }
  };
  CHECK(ray::remote(tree::leaves)(10).get() == 1024);
  std::atomic<int> sum = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&, i] {
        auto run = ray::remote(square);
        for (int j = 0; j < 50; ++j) sum += ray::get(run(i));
      });
    }
  }
  CHECK(sum == 50 * (0 + 1 + 4 + 9));
}

TEST_CASE("a thread that a task has started is outside the task, and may use ray too") {
  auto session = ray::init({.num_cpus = 2});
  auto run = ray::remote([] {
    int result = 0;
    std::jthread([&] { result = ray::remote(square)(5).get(); }).join();
    return result;
  });
  // The outer task keeps its slot while it joins, so there must be another.
  CHECK(run().get() == 25);
}
