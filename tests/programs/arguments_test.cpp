// Arguments: how they become parameters, by value, by reference and from futures.
#include "testing.hpp"

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

namespace {

using programs::gate;
using programs::text_of;

/// Tells where it came from.
struct traced {
  int copies = 0;
  int moves = 0;
  traced() = default;
  traced(const traced& other) : copies(other.copies + 1), moves(other.moves) {}
  traced(traced&& other) noexcept : copies(other.copies), moves(other.moves + 1) {}
  traced& operator=(const traced&) = default;
  template <typename Archive>
  void serialize(Archive& archive) {
    archive(copies, moves);
  }
};

struct from_number {
  double value = 0;
  from_number() = default;
  from_number(double number) : value(number) {}
  template <typename Archive>
  void serialize(Archive& archive) {
    archive(value);
  }
};

struct picky {
  picky() = default;
  picky(int) { throw std::domain_error("picky"); }
  int unused = 0;
  template <typename Archive>
  void serialize(Archive& archive) {
    archive(unused);
  }
};

enum class color { red, green };
struct point {
  int x = 0;
  int y = 0;
  bool operator==(const point&) const = default;
};

int copies_by_value(traced one) { return one.copies; }
int copies_by_reference(const traced& one) { return one.copies; }
int copies_by_rvalue(traced&& one) { return one.copies; }
std::size_t address_of(const std::string& text) {
  return reinterpret_cast<std::size_t>(text.data());
}
double half(double x) { return x / 2; }

template <typename Value>
void check_travels(const Value& value) {
  auto same = ray::remote([](Value one) { return one; });
  CHECK(same(value).get() == value);
  CHECK(same(ray::put(value)).get() == value);
  CHECK(ray::get(ray::put(value)) == value);
}

}  // namespace

TEST_CASE("arguments are converted when the call is made, and the task owns them") {
  auto session = ray::init({.num_cpus = 1});
  CHECK(ray::remote(half)(3).get() == 1.5);
  CHECK(ray::remote([](const std::string& text) { return text.size(); })("four").get() == 4);
  CHECK(ray::remote([](from_number one) { return one.value; })(4).get() == 4);
  CHECK(ray::remote([](std::optional<int> one) { return one.value_or(7); })(std::nullopt).get() ==
        7);
  const gate at;
  std::string text = "before";
  auto late = ray::remote([](const gate& where, const std::string& one) {
    where.pass();
    return one;
  })(at, text);
  text = "after";
  at.await();
  at.open();
  CHECK(late.get() == "before");
  // What a conversion throws is thrown by the call.
  auto run = ray::remote([](const picky&) {});
  CHECK(text_of<std::domain_error>([&] { (void)run(1); }) == "picky");
}

TEST_CASE("a value argument is copied once, or moved, and never more") {
  auto session = ray::init({.num_cpus = 1});
  traced one;
  CHECK(ray::remote(copies_by_value)(one).get() == 1);
  CHECK(ray::remote(copies_by_reference)(one).get() == 1);
  CHECK(ray::remote(copies_by_value)(traced()).get() == 0);
  CHECK(ray::remote(copies_by_reference)(traced()).get() == 0);
  CHECK(ray::remote(copies_by_rvalue)(traced()).get() == 0);
  CHECK(ray::remote([](auto&& value) { return value.copies; })(traced()).get() == 0);
}

TEST_CASE("const U& sees the stored object, U gets a copy, or the object of the last handle") {
  auto session = ray::init({.num_cpus = 1});
  auto text = ray::put(std::string(100, 'x'));
  CHECK(ray::remote(address_of)(text).get() == reinterpret_cast<std::size_t>(text.view()->data()));
  CHECK(ray::remote([](const auto& one) { return address_of(one); })(text).get() ==
        reinterpret_cast<std::size_t>(text.view()->data()));
  auto kept = ray::put(traced());
  CHECK(ray::remote(copies_by_reference)(kept).get() == 0);
  CHECK(ray::remote(copies_by_value)(kept).get() == 1);
  CHECK(ray::remote(copies_by_rvalue)(kept).get() == 1);
  CHECK(ray::remote(copies_by_value)(std::move(kept)).get() == 0);
  CHECK(ray::remote(copies_by_value)(ray::put(traced())).get() == 0);
}

TEST_CASE("a parameter of another type is made from the future's value") {
  auto session = ray::init({.num_cpus = 1});
  CHECK(ray::remote(half)(ray::put(3)).get() == 1.5);
  CHECK(ray::remote([](const double& x) { return x; })(ray::put(3)).get() == 3);
  CHECK(ray::remote([](from_number one) { return one.value; })(ray::put(2.5)).get() == 2.5);
  CHECK(ray::remote([](const from_number& one) { return one.value; })(ray::put(2.5)).get() == 2.5);
  CHECK(ray::remote([](std::optional<int> one) { return *one; })(ray::put(4)).get() == 4);
}

TEST_CASE("a parameter that is a future gets the handle; containers arrive as handles") {
  auto session = ray::init({.num_cpus = 1});
  const gate at;
  auto late = ray::remote([](const gate& where) {
    where.pass();
    return 5;
  })(at);
  at.await();
  auto seen = ray::remote([](const ray::future<int>& one) { return one.ready(); })(late);
  CHECK_FALSE(seen.get());
  auto count = ray::remote(
      [](std::vector<ray::future<int>> all) { return all.size() + (all[0].ready() ? 100u : 0u); });
  CHECK(count(std::vector{late, late}).get() == 2);
  at.open();
  auto sum = ray::remote([](const std::vector<int>& all) { return all[0] + all[1]; });
  CHECK(sum(ray::when_all(std::vector{late, late})).get() == 10);
}

TEST_CASE("where parameters cannot be seen, values if it can be called with them, else handles") {
  auto session = ray::init({.num_cpus = 1});
  auto add = ray::remote([](auto a, auto b) { return a + b; });
  CHECK(add(ray::put(1), 2).get() == 3);
  CHECK(add(ray::put(std::string("a")), "b").get() == "ab");
  auto handle =
      ray::remote([]<typename Value>(const ray::future<Value>& one) { return ray::get(one) * 2; });
  CHECK(handle(ray::put(4)).get() == 8);
  auto literal = ray::remote([](auto text) { return sizeof(text) == sizeof(std::string); });
  CHECK(literal("x").get());
}

TEST_CASE("default arguments count for lambdas and function objects") {
  auto session = ray::init({.num_cpus = 1});
  auto run = ray::remote([](int a, int b = 10) { return a + b; });
  CHECK(run(1).get() == 11);
  CHECK(run(1, 2).get() == 3);
  CHECK(run(ray::put(5)).get() == 15);
  CHECK(ray::remote([](auto a, int b = 4) { return a * b; })(2).get() == 8);
}

TEST_CASE("move-only arguments are moved in, and the task that runs again gets them again") {
  auto session = ray::init({.num_cpus = 1});
  auto read = ray::remote([](std::unique_ptr<int> one) { return *one; });
  CHECK(read(std::make_unique<int>(3)).get() == 3);
  CHECK(read(ray::put(std::make_unique<int>(4))).get() == 4);
  auto shared = ray::put(std::make_unique<int>(5));
  CHECK(read(shared).get() == 5);
  CHECK(read(shared).get() == 5);
  auto again = ray::remote(
      [](std::unique_ptr<int> one, std::vector<std::unique_ptr<int>> more) {
        if (ray::this_task::attempt() < 2) throw std::runtime_error("again");
        return *one + *more.at(0) + ray::this_task::attempt();
      },
      {.retry_exceptions = ray::retry::always});
  std::vector<std::unique_ptr<int>> more;
  more.push_back(std::make_unique<int>(10));
  CHECK(again(std::make_unique<int>(100), std::move(more)).get() == 112);
}

TEST_CASE("what may travel: the standard types, enumerations, aggregates, handles") {
  auto session = ray::init({.num_cpus = 1});
  check_travels(true);
  check_travels(color::green);
  check_travels(point{1, 2});
  check_travels(std::string("text"));
  check_travels(std::vector<std::string>{"a", "b"});
  check_travels(std::vector<bool>{true, false});
  check_travels(std::map<std::string, std::vector<int>>{{"one", {1}}});
  check_travels(std::set<int>{1, 2});
  check_travels(std::tuple<int, std::string>(1, "x"));
  check_travels(std::optional<point>(point{1, 2}));
  check_travels(std::variant<int, std::string>("text"));
  check_travels(std::chrono::milliseconds(4));
  check_travels(std::array<double, 3>{1, 2, 3});
  CHECK(*ray::remote([](const std::shared_ptr<const int>& one) { return one; })(
             std::make_shared<const int>(6))
             .get() == 6);
}

TEST_CASE("the same future may stand for several arguments") {
  auto session = ray::init({.num_cpus = 2});
  const gate at;
  auto late = ray::remote([](const gate& where) {
    where.pass();
    return std::string("x");
  })(at);
  auto join = ray::remote([](const std::string& a, std::string b, const std::string& c) {
    b += a;
    return a + b + c;
  });
  auto joined = join(late, late, late);
  at.await();
  at.open();
  CHECK(joined.get() == "xxxx");
  CHECK(late.get() == "x");
}
