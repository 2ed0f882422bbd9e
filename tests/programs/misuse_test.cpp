// Misuse: errors where nobody asks, requests that never fit, exceptions in odd places.
#include "testing.hpp"

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using namespace std::chrono_literals;
using programs::contains;
using programs::text_of;

int plain(int x) { return x; }

/// Sets an environment variable for a while.
class environment {
 public:
  environment(const char* name, const char* value) : name_(name) { ::setenv(name, value, 1); }
  ~environment() { ::unsetenv(name_); }
  environment(const environment&) = delete;
  environment& operator=(const environment&) = delete;

 private:
  const char* name_;
};

/// Its copies throw from the second on.
struct fragile {
  int copies = 0;
  fragile() = default;
  fragile(const fragile& other) : copies(other.copies + 1) {
    if (copies > 1) throw std::range_error("too fragile");
  }
  fragile(fragile&& other) noexcept = default;
  fragile& operator=(const fragile&) = default;
  template <typename Archive>
  void serialize(Archive& archive) {
    archive(copies);
  }
};

/// A list whose links are objects of the store.
struct chained {
  int number = 0;
  std::vector<ray::future<chained>> next = {};
  template <typename Archive>
  void serialize(Archive& archive) {
    archive(number, next);
  }
};

/// A program may ask whether there is a value to look at.
template <typename Future>
concept has_view = requires(const Future& one) { one.view(); };
static_assert(has_view<ray::future<int>> && !has_view<ray::future<void>>);

struct actor_with_bad_end {
  ~actor_with_bad_end() {
    try {
      (void)ray::remote(plain)(1);
    } catch (const ray::error&) {
      // A destructor may run when the session is over.
    }
  }
  int method() { return 1; }
};

}  // namespace

TEST_CASE("what can never fit waits, or is an error when the environment says so") {
  {
    auto session = ray::init({.num_cpus = 1});
    auto huge = ray::remote(plain, {.num_cpus = 100, .name = "giant"})(1);
    CHECK_FALSE(huge.wait_for(5ms));
    auto odd = ray::remote(plain, {.resources = {{"unobtainium", 1}}})(1);
    CHECK_FALSE(odd.wait_for(5ms));
    CHECK(ray::remote(plain)(1).get() == 1);
    ray::cancel(huge);
    CHECK_THROWS_AS(huge.get(), ray::cancelled_error);
  }
  const environment strict("RAY_INFEASIBLE", "error");
  auto session = ray::init({.num_cpus = 1});
  auto huge = ray::remote(plain, {.num_cpus = 100, .name = "giant"})(1);
  CHECK(contains(text_of<ray::infeasible_error>([&] { huge.get(); }), "giant"));
  auto actor = ray::make_actor<actor_with_bad_end>({.num_cpus = 100, .name = "colossus"});
  CHECK(contains(text_of<ray::infeasible_error>([&] { actor.ready().get(); }), "colossus"));
  CHECK_THROWS_AS(actor.call(&actor_with_bad_end::method).get(), ray::infeasible_error);
  ray::placement_group group({{.num_cpus = 100}});
  CHECK_THROWS_AS(group.ready().get(), ray::infeasible_error);
  CHECK(ray::remote(plain)(1).get() == 1);
}

TEST_CASE("copies that throw fail the call, or the task, and nothing else") {
  auto session = ray::init({.num_cpus = 1});
  fragile once;
  once.copies = 1;
  auto run = ray::remote([](fragile one) { return one.copies; });
  CHECK_THROWS_AS((void)run(once), std::range_error);
  auto stored = ray::put(fragile(std::move(once)));
  CHECK_THROWS_AS(run(stored).get(), std::range_error);
  CHECK_THROWS_AS(ray::get(stored), std::range_error);
  CHECK(stored.view()->copies == 1);
  CHECK(ray::remote(plain)(1).get() == 1);
}

TEST_CASE("an actor's destructor may use ray, or find the session over") {
  for (int round = 0; round < 20; ++round) {
    auto session = ray::init({.num_cpus = 1});
    auto one = ray::make_actor<actor_with_bad_end>();
    if (round % 2 == 0) one.ready().get();
    if (round % 3 == 0) one = {};
  }
  CHECK_FALSE(ray::is_initialized());
}

TEST_CASE("futures of failures are dropped in silence but for the log") {
  auto session = ray::init({.num_cpus = 2});
  for (int i = 0; i < 100; ++i) {
    (void)ray::remote([](int n) -> int { throw std::runtime_error(std::to_string(n)); }, {})(i);
    ray::shutdown();
    session = ray::init({.num_cpus = 2, .verbosity = ray::log_level::error});
  }
  CHECK(ray::remote(plain)(1).get() == 1);
}

TEST_CASE("await outside of a task is refused") {
  auto session = ray::init({.num_cpus = 1});
  auto never = [](ray::future<int> one) -> ray::task<int> { co_return co_await one; };
  {
    auto unused = never(ray::put(1));  // lazy: nothing happens
  }
  CHECK(ray::remote(never)(ray::put(1)).get() == 1);
}

TEST_CASE("num_returns of nothing, timeouts of nothing, waits for what is there") {
  auto session = ray::init({.num_cpus = 1});
  CHECK(ray::wait(std::vector<ray::future<int>>(), {.num_returns = 0}).ready.empty());
  // A loop that waits until nothing is pending ends without asking whether anything is.
  CHECK(ray::wait(std::vector<ray::future<int>>()).ready.empty());
  CHECK_THROWS_AS((void)ray::wait(std::vector{ray::put(1)}, {.num_returns = 2}), ray::usage_error);
  auto one = ray::put(1);
  CHECK(ray::get(one, 0ns) == 1);
  CHECK(ray::get(one, -1s) == 1);
  CHECK(ray::get(one, ray::forever) == 1);
  CHECK(one.wait_for(-1s));
}

TEST_CASE("large graphs of handles in values are freed without recursion") {
  auto session = ray::init({.num_cpus = 1});
  ray::future<chained> head = ray::put(chained());
  for (int i = 1; i < 100'000; ++i) head = ray::put(chained{i, {head}});
  CHECK(head.view()->number == 99'999);
  head = {};
  CHECK(ray::remote(plain)(1).get() == 1);
}
