#include "head/capacity.hpp"

#include <doctest/doctest.h>

#include <random>
#include <vector>

using namespace ray::detail::head;

TEST_CASE("a capacity table finds the first account that has all of a request") {
  capacity_table table;
  table.add(0, {{cpu_kind, 4}}, 1);
  table.add(1, {{cpu_kind, 2}, {gpu_kind, 1}}, 1);
  table.add(5, {{cpu_kind, 8}, {gpu_kind, 2}}, 1);
  CHECK(table.find({{cpu_kind, 1}}) == 0);
  CHECK(table.find({{cpu_kind, 1}}, 1) == 1);
  CHECK(table.find({{cpu_kind, 3}}, 1) == 5);
  CHECK(table.find({{cpu_kind, 4}, {gpu_kind, 1}}) == 5);
  CHECK(table.find({{cpu_kind, 9}}) == nowhere);
  CHECK(table.find({{cpu_kind, 1}}, 6) == nowhere);
  CHECK(table.find({{cpu_kind, 1}}, 6000) == nowhere);
  CHECK(table.find({{7, 1}}) == nowhere);
  CHECK(table.richest(cpu_kind) == 5);
  CHECK(table.times(5, {{cpu_kind, 3}, {gpu_kind, 1}}) == 2);
  table.clear(5);
  CHECK(table.richest(cpu_kind) == 0);
  CHECK(table.find({{gpu_kind, 2}}) == nowhere);
}

TEST_CASE("units may go below zero, and then nothing fits") {
  capacity_table table;
  table.add(0, {{cpu_kind, 2}}, 1);
  table.add(0, {{cpu_kind, 1}}, -3);
  CHECK(table.units(0, cpu_kind) == -1);
  CHECK_FALSE(table.fits(0, {{cpu_kind, 1}}));
  CHECK(table.times(0, {{cpu_kind, 1}}) == 0);
  table.add(0, {{cpu_kind, 2}}, 1);
  CHECK(table.find({{cpu_kind, 1}}) == 0);
}

TEST_CASE("names get numbers, and requests come back as they were") {
  resource_names names;
  const resource_set some(1.5, 1, 77, {{"disk", 2}, {"a", 1}});
  const request need = names.request_of(some);
  CHECK(need.size() == 5);
  for (std::size_t i = 1; i < need.size(); ++i) CHECK(need[i - 1].what < need[i].what);
  CHECK(names.resources_of(need) == some);
  CHECK(names.number("disk") == names.number("disk"));
  CHECK(names.number("disk") != names.number("a"));
  CHECK(names.request_of({}).empty());
}

TEST_CASE("sums of requests drop what becomes zero") {
  request sum;
  add_to(sum, {{gpu_kind, 2}});
  add_to(sum, {{cpu_kind, 3}, {gpu_kind, 1}}, 2);
  CHECK(units_of(sum, cpu_kind) == 6);
  CHECK(units_of(sum, gpu_kind) == 4);
  add_to(sum, {{cpu_kind, 6}}, -1);
  CHECK(sum.size() == 1);
}

TEST_CASE("a capacity table agrees with a linear search") {
  std::mt19937 random(7);
  capacity_table table;
  std::vector<std::vector<std::int64_t>> plain(40, std::vector<std::int64_t>(5, 0));
  const auto number = [&](int below) {
    return static_cast<int>(random() % static_cast<unsigned>(below));
  };
  for (int step = 0; step < 20000; ++step) {
    request need;
    for (kind what = 0; what < 5; ++what)
      if (number(2) == 0) need.push_back({what, 1 + number(8)});
    if (need.empty()) continue;
    const auto account = static_cast<place>(number(40));
    const auto from = static_cast<place>(number(42));
    if (number(20) == 0) {
      table.clear(account);
      plain[account].assign(5, 0);
    } else {
      const std::int64_t times = number(5) - 2;
      table.add(account, need, times);
      for (const quantity& part : need) plain[account][part.what] += part.units * times;
    }
    place expected = nowhere;
    for (place at = from; at < 40 && expected == nowhere; ++at) {
      bool fits = true;
      for (const quantity& part : need) fits = fits && plain[at][part.what] >= part.units;
      if (fits) expected = at;
    }
    REQUIRE(table.find(need, from) == expected);
  }
}
