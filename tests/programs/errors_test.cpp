// Every error that API.md names: that it is raised, that it says what it is about by name and id,
// and that it keeps its type on the way from a task to who asks. Errors of misuse are in
// misuse_test.cpp and beside what is misused; those of the store's files in store_test.cpp.
#include "testing.hpp"

#include <chrono>
#include <concepts>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <stdlib.h>

namespace programs {

struct not_announced : std::exception {
  [[nodiscard]] const char* what() const noexcept override { return "something odd"; }
};

}  // namespace programs

namespace {

using namespace std::chrono_literals;
using programs::contains;
using programs::gate;
using programs::text_of;

int plain(int x) { return x; }
void pass(const gate& at) { at.pass(); }

struct counter {
  int count = 0;
  int add(int n) { return count += n; }
  void pass(const gate& at) { at.pass(); }
};

/// Move-only, so copied by its serialization, which reads more than it wrote.
struct forgetful {
  std::unique_ptr<int> number = std::make_unique<int>(1);
  template <typename Archive>
  void save(Archive& archive) const {
    archive(*number);
  }
  template <typename Archive>
  void load(Archive& archive) {
    int more = 0;
    archive(*number, more);
  }
};

/// A task throws it, and `get` throws the same.
template <typename Error>
void check_kept() {
  static_assert(std::derived_from<Error, ray::error>);
  static_assert(std::derived_from<ray::error, std::runtime_error>);
  auto bad = ray::remote([] { throw Error("as it was thrown"); })();
  CHECK(text_of<Error>([&] { bad.get(); }) == "as it was thrown");
  CHECK_THROWS_AS(bad.get(), ray::error);
  // Through an argument, too.
  CHECK(text_of<Error>([&] { bad.then([] { return 1; }).get(); }) == "as it was thrown");
}

}  // namespace

TEST_CASE("each error keeps its type from the task to who asks") {
  auto session = ray::init({.num_cpus = 1});
  check_kept<ray::error>();
  check_kept<ray::usage_error>();
  check_kept<ray::task_error>();
  check_kept<ray::cancelled_error>();
  check_kept<ray::timeout_error>();
  check_kept<ray::actor_died_error>();
  check_kept<ray::worker_died_error>();
  check_kept<ray::node_died_error>();
  check_kept<ray::object_lost_error>();
  check_kept<ray::out_of_memory_error>();
  check_kept<ray::infeasible_error>();
  check_kept<ray::backpressure_error>();
  check_kept<ray::serialization_error>();
  check_kept<ray::connection_error>();
  check_kept<ray::authentication_error>();
  check_kept<ray::version_error>();
}

TEST_CASE("task_error names the task, the type and what it said") {
  auto session = ray::init({.num_cpus = 1});
  auto bad = ray::remote([] { throw programs::not_announced(); }, {.name = "ledger"})();
  const auto text = text_of<ray::task_error>([&] { bad.get(); });
  CHECK(contains(text, "ledger"));
  CHECK(contains(text, "not_announced"));
  CHECK(contains(text, "something odd"));
}

TEST_CASE("cancelled_error names the task, be it waiting or running") {
  auto session = ray::init({.num_cpus = 1});
  const gate at;
  auto runs = ray::remote(pass, {.name = "runner"})(at);
  at.await();
  auto waits =
      ray::remote(plain, {.num_cpus = 1, .resources = {{"nowhere", 1}}, .name = "waiter"})(1);
  ray::cancel(runs);
  ray::cancel(waits);
  auto text = text_of<ray::cancelled_error>([&] { runs.get(); });
  CHECK(contains(text, "runner"));
  CHECK(contains(text, to_string(runs.id())));
  text = text_of<ray::cancelled_error>([&] { waits.get(); });
  CHECK(contains(text, "waiter"));
  CHECK(contains(text, to_string(waits.id())));
}

TEST_CASE("timeout_error names the task, of a wait for it and of the task itself") {
  auto session = ray::init({.num_cpus = 1});
  const gate at;
  auto slow = ray::remote(pass, {.name = "slow"})(at);
  auto text = text_of<ray::timeout_error>([&] { ray::get(slow, 1ms); });
  CHECK(contains(text, "slow"));
  CHECK(contains(text, to_string(slow.id())));
  CHECK(contains(text, "1 ms"));
  at.open();
  slow.get();  // the future was as before
  auto late = ray::remote(pass, {.name = "late", .timeout = 1ms})(at);
  text = text_of<ray::timeout_error>([&] { late.get(); });
  CHECK(contains(text, "late"));
  CHECK(contains(text, to_string(late.id())));
}

TEST_CASE("actor_died_error names the actor and says why it ended") {
  struct refuses {
    refuses() { throw std::domain_error("not today"); }
    int method() { return 1; }
  };
  auto session = ray::init({.num_cpus = 1});
  auto one = ray::make_actor<counter>({.name = "victim"});
  one.kill();
  auto text = text_of<ray::actor_died_error>([&] { one.call(&counter::add, 1).get(); });
  CHECK(contains(text, "victim"));
  CHECK(contains(text, to_string(one.id())));
  CHECK(contains(text, "kill"));
  auto unnamed = ray::make_actor<refuses>();
  text = text_of<ray::actor_died_error>([&] { unnamed.call(&refuses::method).get(); });
  CHECK(contains(text, "refuses"));
  CHECK(contains(text, to_string(unnamed.id())));
  CHECK(contains(text, "not today"));
}

TEST_CASE("backpressure_error names the actor and its limit") {
  auto session = ray::init({.num_cpus = 1});
  auto one = ray::make_actor<counter>({.name = "popular", .max_pending_calls = 1});
  const gate at;
  auto runs = one.call(&counter::pass, at);
  at.await();
  auto waits = one.call(&counter::add, 1);
  const auto text = text_of<ray::backpressure_error>([&] { (void)one.call(&counter::add, 1); });
  CHECK(contains(text, "popular"));
  CHECK(contains(text, to_string(one.id())));
  CHECK(contains(text, "max_pending_calls"));
  at.open();
  CHECK(waits.get() == 1);
}

TEST_CASE("infeasible_error names what asks, what is wanted and what there is") {
  ::setenv("RAY_INFEASIBLE", "error", 1);
  auto session = ray::init({.num_cpus = 1});
  ::unsetenv("RAY_INFEASIBLE");
  auto huge = ray::remote(plain, {.num_cpus = 100, .name = "giant"})(1);
  auto text = text_of<ray::infeasible_error>([&] { huge.get(); });
  CHECK(contains(text, "task 'giant' (" + to_string(huge.id()) + ") needs {CPU: 100}"));
  CHECK(contains(text, "{CPU: 1, "));
  CHECK_FALSE(contains(text, "waits"));
  auto actor = ray::make_actor<counter>({.num_gpus = 1, .name = "colossus"});
  text = text_of<ray::infeasible_error>([&] { actor.ready().get(); });
  CHECK(contains(text, "colossus"));
  CHECK(contains(text, to_string(actor.id())));
}

TEST_CASE("out_of_memory_error names the object and the option") {
  auto session = ray::init({.num_cpus = 1, .object_store_memory = 1 << 20});
  auto huge = ray::remote([] { return std::vector<char>(2 << 20); })();
  const auto text = text_of<ray::out_of_memory_error>([&] { huge.get(); });
  CHECK(contains(text, to_string(huge.id())));
  CHECK(contains(text, "object_store_memory"));
}

TEST_CASE("serialization_error: what is loaded is not what was saved") {
  auto session = ray::init({.num_cpus = 1});
  auto one = ray::put(forgetful());
  auto same = one;  // with two handles the value is copied
  const auto text = text_of<ray::serialization_error>([&] { (void)ray::get(std::move(same)); });
  CHECK(contains(text, "4 bytes are needed and 0 bytes are left"));
  CHECK(*one.view()->number == 1);
}
