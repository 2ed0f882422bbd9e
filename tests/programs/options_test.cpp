// Options of tasks: resources, priorities, retries, names, and values that make no sense.
#include "testing.hpp"

#include <atomic>
#include <chrono>
#include <latch>
#include <limits>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace std::chrono_literals;
using programs::await_available;
using programs::contains;
using programs::gate;
using programs::text_of;

std::atomic<int> runs = 0;
std::atomic<int> now = 0;
std::atomic<int> most = 0;

void note_overlap() {
  const int running = ++now;
  int seen = most;
  while (seen < running && !most.compare_exchange_weak(seen, running)) {
  }
  std::this_thread::yield();
  --now;
}

int flaky(int failures) {
  ++runs;
  if (ray::this_task::attempt() < failures) throw std::runtime_error("flaky");
  return ray::this_task::attempt();
}

int plain(int x) { return x; }
void pass(const gate& at) { at.pass(); }

/// The usage_error of a call with these options.
std::string refusal(ray::task_options options) {
  return text_of<ray::usage_error>([&] { (void)ray::remote(plain, std::move(options))(1); });
}

}  // namespace

TEST_CASE("options replace one another, and do not touch the function they came from") {
  auto session = ray::init({.num_cpus = 1});
  auto name = ray::remote([] { return ray::this_task::name(); });
  auto first = name.with({.name = "first"});
  auto second = first.with({.num_cpus = 0.5});
  CHECK(first().get() == "first");
  CHECK(second().get() == name().get());
  CHECK(first().get() == "first");
}

TEST_CASE("retries on exceptions, as often as the options say") {
  auto session = ray::init({.num_cpus = 1});
  runs = 0;
  CHECK(ray::remote(flaky, {.retry_exceptions = ray::retry::always})(3).get() == 3);
  CHECK(runs == 4);
  runs = 0;
  CHECK_THROWS_AS(ray::remote(flaky, {.retry_exceptions = ray::retry::always})(4).get(),
                  std::runtime_error);
  CHECK(runs == 4);
  runs = 0;
  CHECK_THROWS_AS(ray::remote(flaky)(1).get(), std::runtime_error);
  CHECK(runs == 1);
  const ray::task_options ever{.max_retries = -1, .retry_exceptions = ray::retry::always};
  CHECK(ray::remote(flaky, ever)(50).get() == 50);
  runs = 0;
  const ray::task_options none{.max_retries = 0, .retry_exceptions = ray::retry::always};
  CHECK_THROWS_AS(ray::remote(flaky, none)(1).get(), std::runtime_error);
  CHECK(runs == 1);
}

TEST_CASE("retries only on the exceptions that are named, and on what derives from them") {
  auto session = ray::init({.num_cpus = 1});
  runs = 0;
  const ray::task_options logic{.retry_exceptions = ray::retry::on<std::logic_error>()};
  CHECK_THROWS_AS(ray::remote(flaky, logic)(1).get(), std::runtime_error);
  CHECK(runs == 1);
  const ray::task_options both{.retry_exceptions =
                                   ray::retry::on<std::logic_error, std::runtime_error>()};
  CHECK(ray::remote(flaky, both)(2).get() == 2);
  auto derived = ray::remote(
      [] {
        if (ray::this_task::attempt() == 0) throw std::out_of_range("derived");
        return 1;
      },
      logic);
  CHECK(derived().get() == 1);
  // The arguments of every attempt are those of the first.
  auto eats = ray::remote(
      [](std::vector<int> values) {
        const std::vector<int> taken = std::move(values);
        if (ray::this_task::attempt() < 2) throw std::runtime_error("again");
        return taken.size();
      },
      {.retry_exceptions = ray::retry::always});
  CHECK(eats(std::vector<int>(10)).get() == 10);
  CHECK(eats(ray::put(std::vector<int>(20))).get() == 20);
}

TEST_CASE("fractions of a CPU are counted exactly") {
  auto session = ray::init({.num_cpus = 1});
  now = most = 0;
  std::vector<ray::future<void>> all;
  auto third = ray::remote(note_overlap, {.num_cpus = 1.0 / 3});
  for (int i = 0; i < 300; ++i) all.push_back(third());
  ray::get(all);
  CHECK(most <= 3);
  const gate at;
  auto tenth = ray::remote(pass, {.num_cpus = 0.1});
  all.clear();
  for (int i = 0; i < 10; ++i) all.push_back(tenth(at));
  at.await(10);  // all ten at once
  at.open(10);
  ray::get(all);
  await_available("CPU", 1);
}

TEST_CASE("custom resources and memory bound what runs at once, and hold up nothing else") {
  auto session = ray::init({.num_cpus = 2, .resources = {{"license", 1}}});
  static std::latch release(1);
  ray::queue<int> here(0);
  auto holds = ray::remote(
      [](const ray::queue<int>& come) {
        come.put(1);
        release.wait();
      },
      {.num_cpus = 0, .resources = {{"license", 1}}});
  auto first = holds(here);
  auto second = holds(here);
  here.get();
  CHECK(ray::available_resources().at("license") == 0);
  CHECK(ray::remote(plain)(1).get() == 1);
  CHECK(ray::remote(plain, {.num_cpus = 2})(2).get() == 2);
  CHECK(here.size() == 0);
  CHECK_FALSE(second.ready());
  release.count_down();
  ray::get(first, second);
  CHECK(ray::cluster_resources().at("license") == 1);
}

TEST_CASE("a class that is exhausted is not overdrawn") {
  auto session = ray::init({.num_cpus = 4, .resources = {{"slot", 2}}});
  now = most = 0;
  std::vector<ray::future<void>> all;
  for (int i = 0; i < 500; ++i) {
    all.push_back(ray::remote(note_overlap, {.num_cpus = 0.5, .resources = {{"slot", 1}}})());
  }
  ray::get(all);
  CHECK(most <= 2);
}

TEST_CASE("what waits begins by priority") {
  auto session = ray::init({.num_cpus = 1});
  static std::latch release(1);
  ray::queue<int> order(0);
  ray::queue<int> here(0);
  auto holds = ray::remote(
      [](const ray::queue<int>& come) {
        come.put(1);
        release.wait();
      },
      {.num_cpus = 1})(here);
  here.get();
  auto note = ray::remote([](const ray::queue<int>& where, int n) { where.put(n); });
  std::vector<ray::future<void>> all;
  for (const int priority : {1, 5, -3, 9}) {
    const ray::task_options options{.priority = priority};
    all.push_back(note.with(options)(order, priority));
  }
  release.count_down();
  for (auto& one : all) {
    while (!one.wait_for(1s)) {
    }
  }
  CHECK(order.get() == 9);
  CHECK(order.get() == 5);
  CHECK(order.get() == 1);
  CHECK(order.get() == -3);
}

TEST_CASE("absurd options throw usage_error when they are used, and say which") {
  auto session = ray::init({.num_cpus = 1});
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  CHECK(contains(refusal({.num_cpus = -1}), "num_cpus"));
  CHECK(contains(refusal({.num_cpus = nan}), "num_cpus"));
  CHECK(contains(refusal({.num_cpus = infinity}), "num_cpus"));
  CHECK(contains(refusal({.num_gpus = -0.5}), "num_gpus"));
  CHECK(contains(refusal({.resources = {{"disk", -1}}}), "disk"));
  CHECK(contains(refusal({.resources = {{"disk", nan}}}), "disk"));
  CHECK_FALSE(refusal({.resources = {{"", 1}}}).empty());
  CHECK(contains(refusal({.resources = {{"CPU", 1}}}), "CPU"));
  CHECK(contains(refusal({.max_retries = -2}), "max_retries"));
  CHECK(contains(refusal({.timeout = -1s}), "timeout"));
  CHECK(contains(refusal({.stream_buffer = 0}), "stream_buffer"));
  CHECK(contains(refusal({.isolated = true}), "isolated"));
  CHECK(ray::remote(plain)(1).get() == 1);
}

TEST_CASE("a session without CPUs runs what needs none") {
  auto session = ray::init({.num_cpus = 0});
  CHECK(ray::remote(plain, {.num_cpus = 0})(3).get() == 3);
  auto waits = ray::remote(plain)(4);
  CHECK_FALSE(waits.wait_for(20ms));
  // What the library itself runs needs no slot.
  std::vector<int> numbers(100, 1);
  ray::parallel_for(numbers, [](int& x) { ++x; });
  CHECK(numbers.back() == 2);
  CHECK(ray::put(1).then([](int x) { return x + 1; }).get() == 2);
  CHECK(ray::when_all(std::vector{ray::put(1)}).get() == std::vector{1});
}
