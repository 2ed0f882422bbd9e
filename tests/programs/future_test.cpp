// Futures: what can be asked of them, waiting, moving out, views, and what is chained to them.
#include "testing.hpp"

#include <chrono>
#include <list>
#include <memory>
#include <stdexcept>
#include <unordered_set>
#include <vector>

namespace {

using namespace std::chrono_literals;
using programs::contains;
using programs::gate;
using programs::text_of;

int plus_one(int x) { return x + 1; }
int fails(std::string text) { throw std::invalid_argument(text); }
void nothing() {}
int pass_then(gate at, int x) {
  at.pass();
  return x;
}

/// Counts its copies.
struct counted {
  int copies = 0;
  counted() = default;
  counted(const counted& other) : copies(other.copies + 1) {}
  counted(counted&& other) noexcept = default;
  counted& operator=(const counted&) = default;
  template <typename Archive>
  void serialize(Archive& archive) {
    archive(copies);
  }
};

}  // namespace

TEST_CASE("an empty future says so, whatever is asked of it") {
  auto session = ray::init({.num_cpus = 1});
  ray::future<int> none;
  CHECK_FALSE(none.valid());
  CHECK(none == ray::future<int>());
  CHECK_THROWS_AS(none.get(), ray::usage_error);
  CHECK_THROWS_AS(ray::get(none), ray::usage_error);
  CHECK_THROWS_AS(none.wait(), ray::usage_error);
  CHECK_THROWS_AS(none.wait_for(1s), ray::usage_error);
  CHECK_THROWS_AS((void)none.ready(), ray::usage_error);
  CHECK_THROWS_AS((void)none.failed(), ray::usage_error);
  CHECK_THROWS_AS((void)none.id(), ray::usage_error);
  CHECK_THROWS_AS((void)none.view(), ray::usage_error);
  CHECK_THROWS_AS((void)none.then(plus_one), ray::usage_error);
  CHECK_THROWS_AS(ray::cancel(none), ray::usage_error);
  CHECK_THROWS_AS((void)ray::when_all(none, none), ray::usage_error);
  CHECK_THROWS_AS((void)ray::wait(std::vector{none}), ray::usage_error);
  CHECK_THROWS_AS((void)ray::remote(plus_one)(none), ray::usage_error);
}

TEST_CASE("a future tells its state") {
  auto session = ray::init({.num_cpus = 1});
  const gate at;
  auto waits = ray::remote(pass_then)(at, 3);
  at.await();
  CHECK_FALSE(waits.ready());
  CHECK_FALSE(waits.failed());
  CHECK_FALSE(waits.wait_for(0ns));
  CHECK_FALSE(waits.wait_for(1ms));
  at.open();
  waits.wait();
  CHECK(waits.ready());
  CHECK_FALSE(waits.failed());
  CHECK(waits.wait_for(0ns));
  CHECK(waits.get() == 3);
  CHECK(waits.get() == 3);

  auto bad = ray::remote(fails)("no");
  bad.wait();  // never throws the task's error
  CHECK(bad.wait_for(ray::forever));
  CHECK(bad.ready());
  CHECK(bad.failed());
  CHECK(text_of<std::invalid_argument>([&] { bad.get(); }) == "no");
  CHECK_THROWS_AS(bad.get(), std::invalid_argument);
  CHECK_THROWS_AS((void)bad.view(), std::invalid_argument);
  static_assert(std::is_same_v<decltype(bad)::value_type, int>);
}

TEST_CASE("futures compare, hash and print by object") {
  auto session = ray::init({.num_cpus = 1});
  auto one = ray::put(1);
  auto same = one;
  auto other = ray::put(1);
  CHECK(one == same);
  CHECK(one != other);
  CHECK(one.id() == same.id());
  CHECK(one.id() != other.id());
  const std::unordered_set<ray::future<int>> set{one, same, other};
  CHECK(set.size() == 2);
  std::ostringstream text;
  text << one.id();
  CHECK_FALSE(text.str().empty());
}

TEST_CASE("get of an rvalue moves out what nobody else uses, and copies what somebody does") {
  auto session = ray::init({.num_cpus = 1});
  auto alone = ray::put(counted());
  CHECK(ray::get(std::move(alone)).copies == 0);
  CHECK_FALSE(alone.valid());

  auto shared = ray::put(counted());
  auto other = shared;
  CHECK(ray::get(std::move(shared)).copies == 1);
  CHECK(ray::get(other).copies == 1);
  CHECK(other.valid());

  auto viewed = ray::put(counted());
  const auto view = viewed.view();
  CHECK(std::move(viewed).get().copies == 1);
  CHECK(view->copies == 0);
}

TEST_CASE("a value that cannot be copied is moved, or serialized when another handle needs it") {
  auto session = ray::init({.num_cpus = 1});
  auto only = ray::put(std::make_unique<int>(7));
  CHECK(*ray::get(std::move(only)) == 7);

  auto shared = ray::put(std::make_unique<int>(8));
  auto other = shared;
  CHECK(*ray::get(std::move(shared)) == 8);
  CHECK(**other.view() == 8);
  CHECK(*ray::get(std::move(other), 1s) == 8);
}

TEST_CASE("get with a timeout leaves the handle as it was") {
  auto session = ray::init({.num_cpus = 2});
  const gate at;
  auto late = ray::remote(pass_then, {.name = "latecomer"})(at, 5);
  at.await();
  const std::string text = text_of<ray::timeout_error>([&] { ray::get(late, 1ms); });
  CHECK(contains(text, "latecomer"));
  CHECK_THROWS_AS(ray::get(std::move(late), 1ms), ray::timeout_error);
  REQUIRE(late.valid());
  std::vector both{late, ray::put(1)};
  CHECK_THROWS_AS(ray::get(both, 1ms), ray::timeout_error);
  CHECK_THROWS_AS(ray::get(std::move(both), 1ms), ray::timeout_error);
  REQUIRE(both.size() == 2);
  CHECK(both[1].valid());
  at.open();
  CHECK(ray::get(std::move(both), ray::forever) == std::vector{5, 1});
  CHECK(ray::get(late) == 5);
}

TEST_CASE("get of ranges and of several futures") {
  auto session = ray::init({.num_cpus = 2});
  auto run = ray::remote(plus_one);
  std::vector<ray::future<int>> many;
  for (int i = 0; i < 100; ++i) many.push_back(run(i));
  std::vector<int> expected;
  for (int i = 0; i < 100; ++i) expected.push_back(i + 1);
  CHECK(ray::get(many) == expected);
  const auto constant = many;
  CHECK(ray::get(constant) == expected);
  CHECK(ray::get(std::list(many.begin(), many.end())) == expected);
  CHECK(ray::get(std::move(many)) == expected);
  CHECK(ray::get(std::vector<ray::future<int>>()).empty());
  const std::array<ray::future<int>, 2> two{run(1), run(2)};
  CHECK(ray::get(two) == std::vector{2, 3});

  const auto [a, b, c] = ray::get(run(1), ray::remote(nothing)(), ray::put(std::string("x")));
  static_assert(std::is_same_v<decltype(b), const std::monostate>);
  CHECK(a == 2);
  CHECK(c == "x");
  std::vector<ray::future<void>> voids{ray::remote(nothing)(), ray::remote(nothing)()};
  static_assert(std::is_void_v<decltype(ray::get(voids))>);
  ray::get(voids);
}

TEST_CASE("a range may make its futures while it is read") {
  auto session = ray::init({.num_cpus = 2});
  auto run = ray::remote(plus_one);
  int calls = 0;
  auto made = std::views::iota(0, 10) | std::views::transform([&](int i) {
                ++calls;
                return run(i);
              });
  CHECK(ray::get(made) == std::vector{1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
  CHECK(calls == 10);
  CHECK(ray::wait(made, {.num_returns = 10}).ready.size() == 10);
  CHECK(calls == 20);
  int sum = 0;
  for (auto& one : ray::as_completed(made)) sum += ray::get(one);
  CHECK(sum == 55);
  CHECK(ray::get(ray::when_all(made)).size() == 10);
  CHECK(calls == 40);
  auto first = made | std::views::take_while([](const auto&) { return false; });
  CHECK(ray::wait(first, {.num_returns = 0}).ready.empty());
}

TEST_CASE("get of a range throws its first error when all have ended") {
  auto session = ray::init({.num_cpus = 2});
  const gate at;
  auto last = ray::remote(pass_then)(at, 1);
  std::vector<ray::future<int>> all{ray::put(1), ray::remote(fails)("first"), last,
                                    ray::remote(fails)("second")};
  at.await();
  all[3].wait();
  at.open();
  CHECK(text_of<std::invalid_argument>([&] { ray::get(all); }) == "first");
  CHECK(last.ready());
  CHECK(text_of<std::invalid_argument>([&] { ray::get(all[0], all[3], all[1]); }) == "second");
  CHECK(text_of<std::invalid_argument>([&] { ray::get(ray::when_all(all)); }) == "first");
  CHECK(text_of<std::invalid_argument>([&] { ray::get(ray::when_all(all[0], all[3])); }) ==
        "second");
}

TEST_CASE("wait divides what has ended from what has not, in order") {
  auto session = ray::init({.num_cpus = 2});
  const gate at;
  auto run = ray::remote(pass_then);
  std::vector<ray::future<int>> all{run(at, 0), ray::put(1), run(at, 2), ray::remote(fails)("x")};
  at.await(2);
  all[3].wait();
  auto found = ray::wait(all, {.num_returns = 2});
  CHECK(found.ready == std::vector{all[1], all[3]});
  CHECK(found.pending == std::vector{all[0], all[2]});
  found = ray::wait(all, {.num_returns = 3, .timeout = 1ms});
  CHECK(found.ready.size() == 2);
  CHECK(ray::wait(all).ready.size() == 2);  // what has ended already is all told
  CHECK_THROWS_AS((void)ray::wait(all, {.num_returns = 5}), ray::usage_error);
  at.open(2);
  CHECK(ray::wait(all, {.num_returns = 4}).ready == all);
}

TEST_CASE("as_completed gives each future once, in the order in which they end") {
  auto session = ray::init({.num_cpus = 1});
  std::vector<gate> gates(3);
  auto run = ray::remote(pass_then);
  std::vector<ray::future<int>> all;
  for (int i = 0; i < 3; ++i) all.push_back(run(gates[static_cast<std::size_t>(i)], i));
  for (const auto& one : gates) one.await();
  auto ended = ray::as_completed(all);
  all.clear();  // the range holds handles of its own
  std::vector<int> order;
  gates[2].open();
  for (auto& one : ended) {
    static_assert(std::is_same_v<decltype(one), ray::future<int>&>);
    order.push_back(ray::get(one));
    if (order.back() == 2) gates[0].open();
    if (order.back() == 0) gates[1].open();
  }
  CHECK(order == std::vector{2, 0, 1});
  for (auto& one : ray::as_completed(std::vector<ray::future<int>>())) FAIL(one.id());
}

TEST_CASE("a view is the object itself and keeps it, after the session too") {
  auto session = ray::init({.num_cpus = 1});
  std::vector<double> numbers(1000, 1.5);
  const double* data = numbers.data();
  auto stored = ray::put(std::move(numbers));
  auto view = stored.view();
  CHECK(view->data() == data);
  CHECK(stored.view().get() == view.get());
  stored = {};
  CHECK((*view)[999] == 1.5);
  auto made = ray::remote([](int n) { return std::string(static_cast<std::size_t>(n), 'x'); })(100);
  auto text = made.view();
  ray::shutdown();
  CHECK(view->size() == 1000);
  CHECK(text->size() == 100);
  CHECK_THROWS_AS((void)made.view(), ray::usage_error);
}

TEST_CASE("then chains, flattens, captures, and passes errors by") {
  auto session = ray::init({.num_cpus = 1});
  int seen = 0;
  auto run = ray::remote(plus_one);
  auto next = run(1).then([&](const int& x) { seen = x; }).then([&] { return seen * 10; });
  CHECK(next.get() == 20);
  auto flat = run(1).then([&](int x) { return run(x); });
  static_assert(std::is_same_v<decltype(flat), ray::future<int>>);
  CHECK(flat.get() == 3);
  auto deep = run(1).then([&](int x) { return run(x).then([&](int y) { return run(y); }); });
  static_assert(std::is_same_v<decltype(deep), ray::future<int>>);
  CHECK(deep.get() == 4);
  bool called = false;
  auto failed = ray::remote(fails)("lost").then([&](int) { called = true; });
  CHECK(text_of<std::invalid_argument>([&] { failed.get(); }) == "lost");
  CHECK_FALSE(called);
  auto thrown = run(1).then([](int) -> int { throw std::out_of_range("in then"); });
  CHECK(text_of<std::out_of_range>([&] { thrown.get(); }) == "in then");
  auto inner = run(1).then([](int) { return ray::remote(fails)("inside"); });
  CHECK(text_of<std::invalid_argument>([&] { inner.get(); }) == "inside");
}

TEST_CASE("when_all and split") {
  auto session = ray::init({.num_cpus = 2});
  auto run = ray::remote(plus_one);
  auto tuple = ray::when_all(run(1), ray::put(std::string("two")), ray::remote(nothing)());
  static_assert(
      std::is_same_v<decltype(tuple), ray::future<std::tuple<int, std::string, std::monostate>>>);
  CHECK(std::get<1>(tuple.get()) == "two");
  auto [number, text] = ray::split(ray::when_all(run(1), ray::put(std::string("two"))));
  CHECK(number.get() == 2);
  CHECK(text.get() == "two");
  auto [fst, snd] = ray::split(ray::put(std::pair(1, 2.5)));
  CHECK(fst.get() == 1);
  CHECK(snd.get() == 2.5);
  auto broken = ray::remote([]() -> std::tuple<int, int> { throw std::domain_error("both"); })();
  auto [left, right] = ray::split(broken);
  CHECK_THROWS_AS(left.get(), std::domain_error);
  CHECK_THROWS_AS(right.get(), std::domain_error);

  std::vector<ray::future<int>> many;
  for (int i = 0; i < 10; ++i) many.push_back(run(i));
  CHECK(ray::when_all(many).get().size() == 10);
  CHECK(ray::when_all(std::vector<ray::future<int>>()).get().empty());
  std::vector<ray::future<void>> voids(3, ray::remote(nothing)());
  static_assert(std::is_same_v<decltype(ray::when_all(voids)), ray::future<void>>);
  ray::when_all(voids).get();
  std::vector<ray::future<std::unique_ptr<int>>> owners;
  owners.push_back(ray::put(std::make_unique<int>(4)));
  CHECK(*std::move(ray::get(ray::when_all(std::move(owners)))).front() == 4);
}

TEST_CASE("futures travel inside values") {
  auto session = ray::init({.num_cpus = 1});
  auto run = ray::remote(plus_one);
  auto nested = ray::put(std::vector{run(1), run(2)});
  auto sum = ray::remote([](const std::vector<ray::future<int>>& parts) {
    int total = 0;
    for (int part : ray::get(parts)) total += part;
    return total;
  });
  CHECK(sum(nested).get() == 5);
  auto made = ray::remote([](int n) { return std::vector{ray::put(n), ray::put(n + 1)}; })(4);
  CHECK(ray::get(ray::get(made)) == std::vector{4, 5});
}
