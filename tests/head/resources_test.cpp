#include "head/resources.hpp"

#include <doctest/doctest.h>

#include <limits>

namespace head = ray::detail::head;
using head::resource_set;

TEST_CASE("a resource set adds, takes and compares") {
  resource_set node(8, 2, 1000, {{"disk", 4}, {"license", 1}});
  const resource_set task(2, 0.5, 100, {{"disk", 1}});
  CHECK(node.fits(task));
  CHECK_FALSE(task.fits(node));
  node -= task;
  CHECK(node == resource_set(6, 1.5, 900, {{"disk", 3}, {"license", 1}}));
  node += task;
  CHECK(node == resource_set(8, 2, 1000, {{"disk", 4}, {"license", 1}}));
  CHECK_FALSE(node.fits(resource_set(0, 0, 0, {{"tape", 0.1}})));
}

TEST_CASE("what is zero is not there") {
  resource_set some(1, 0, 0, {{"disk", 1}, {"tape", 0}});
  CHECK(some.custom().size() == 1);
  some -= resource_set(1, 0, 0, {{"disk", 1}});
  CHECK(some.empty());
  CHECK(some == resource_set{});
  CHECK(some.to_map().empty());
}

TEST_CASE("fractions add up exactly") {
  resource_set sum;
  for (int i = 0; i < 10; ++i) sum += resource_set(0.1, 0, 0, {{"x", 0.3}});
  CHECK(sum == resource_set(1, 0, 0, {{"x", 3}}));
}

TEST_CASE("absurd amounts are held and named") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK_FALSE(resource_set(1, 2, 3, {{"x", 4}}).problem());
  CHECK(resource_set(-1).problem()->find("num_cpus") == 0);
  CHECK(resource_set(nan).problem()->find("num_cpus") == 0);
  CHECK(resource_set(1, -0.5).problem()->find("num_gpus") == 0);
  CHECK(resource_set(1, 0, std::numeric_limits<std::size_t>::max()).problem()->find("memory") == 0);
  CHECK(resource_set(1, 0, 0, {{"disk", -2}}).problem()->find("'disk'") != std::string::npos);
  CHECK(resource_set(1, 0, 0, {{"disk", nan}}).problem()->find("'disk'") != std::string::npos);
  CHECK(resource_set(1, 0, 0, {{"CPU", 2}}).problem()->find("num_cpus") != std::string::npos);
  CHECK(resource_set(1, 0, 0, {{"", 2}}).problem()->find("empty name") != std::string::npos);
}

TEST_CASE("a resource set as text and as a map") {
  const resource_set some(2, 0.5, 1024, {{"disk", 1.5}});
  CHECK(to_string(some) == "{CPU: 2, GPU: 0.5, memory: 1024, disk: 1.5}");
  CHECK(to_string(resource_set{}) == "{}");
  CHECK(some.to_map() ==
        std::map<std::string, double>{{"CPU", 2}, {"GPU", 0.5}, {"memory", 1024}, {"disk", 1.5}});
}

TEST_CASE("labels are carried all or not") {
  const head::label_map node{{"zone", "a"}, {"disk", "ssd"}};
  CHECK(head::carries(node, {}));
  CHECK(head::carries(node, {{"zone", "a"}}));
  CHECK_FALSE(head::carries(node, {{"zone", "b"}}));
  CHECK_FALSE(head::carries(node, {{"zone", "a"}, {"rack", "1"}}));
  CHECK(head::to_string(node) == "{disk: ssd, zone: a}");
}
