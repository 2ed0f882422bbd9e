// Random graphs of tasks, actors and combinations, against a sequential evaluation of the same
// graph.
#include "testing.hpp"

#include <cstdint>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using number = std::uint64_t;
using optional_number = std::optional<number>;  // nothing: the node fails

/// What one node of a graph does with earlier ones.
struct node {
  enum class kind {
    constant,
    stored,
    unary,
    binary,
    reads_reference,
    returns_future,
    coroutine,
    then,
    pair,
    nested_get,
    actor_call,
    fails,
    drawn,
    isolated_cpu,
    last
  };
  kind what = kind::constant;
  std::size_t left = 0;
  std::size_t right = 0;
  number value = 0;
};

number mix(number a, number b) { return (a ^ (b << 7)) * 0x9E3779B97F4A7C15u + (b >> 3); }

struct folder {
  number plus = 13;
  number fold(number x) const { return mix(x, plus); }
};

number unary(number x) { return mix(x, 1); }
number by_reference(const number& a, const number& b) { return mix(a, b); }
ray::future<number> returns_future(number x) { return ray::remote(unary)(mix(x, 2)); }
ray::task<number> coroutine(const number& a, ray::future<number> b) {
  const number got = co_await b;
  co_return mix(a, co_await ray::remote(unary)(got));
}
number nested(number a, const std::vector<ray::future<number>>& parts) {
  number result = a;
  for (number one : ray::get(parts)) result = mix(result, one);
  return result;
}
number throws(number a) { throw std::domain_error(std::to_string(a)); }

std::vector<node> random_graph(std::uint32_t seed, std::size_t size) {
  std::mt19937 random(seed);
  std::vector<node> graph(size);
  for (std::size_t i = 0; i < size; ++i) {
    node& one = graph[i];
    one.value = random();
    if (i < 3) continue;
    // Failures are few, or everything fails after a while.
    const auto count = static_cast<unsigned>(node::kind::last);
    do {
      one.what = static_cast<node::kind>(random() % count);
    } while (one.what == node::kind::fails && random() % 40 != 0);
    // Near ones make chains, far ones make wide graphs.
    const std::size_t reach = random() % 2 == 0 ? std::min<std::size_t>(i, 4) : i;
    one.left = i - 1 - random() % reach;
    one.right = i - 1 - random() % reach;
  }
  return graph;
}

std::vector<optional_number> evaluate(const std::vector<node>& graph) {
  std::vector<optional_number> values;
  for (const node& one : graph) {
    const optional_number a = values.empty() ? optional_number(0) : values[one.left];
    const optional_number b = values.empty() ? optional_number(0) : values[one.right];
    using kind = node::kind;
    optional_number result;
    switch (one.what) {
      case kind::constant:
      case kind::stored:
        result = one.value;
        break;
      case kind::unary:
      case kind::isolated_cpu:
      case kind::drawn:
        if (a) result = unary(*a);
        break;
      case kind::binary:
      case kind::reads_reference:
      case kind::pair:
        if (a && b) result = mix(*a, *b);
        break;
      case kind::returns_future:
        if (a) result = unary(mix(*a, 2));
        break;
      case kind::coroutine:
        if (a && b) result = mix(*a, unary(*b));
        break;
      case kind::then:
        if (a) result = mix(*a, one.value);
        break;
      case kind::nested_get:
        if (a && b) result = mix(mix(*a, *b), *a);
        break;
      case kind::actor_call:
        if (a) result = folder().fold(*a);
        break;
      case kind::fails:
      case kind::last:
        break;
    }
    values.push_back(result);
  }
  return values;
}

ray::future<number> submit(const node& one, const std::vector<ray::future<number>>& values,
                           const ray::actor<folder>& actor) {
  using kind = node::kind;
  const auto& a = values[one.left];
  const auto& b = values[one.right];
  switch (one.what) {
    case kind::unary:
      return ray::remote(unary)(a);
    case kind::isolated_cpu:
      return ray::remote(unary, {.num_cpus = 0})(a);
    case kind::drawn:
      return ray::remote(unary, {.num_cpus = 1.5})(a);
    case kind::binary:
      return ray::remote(mix)(a, b);
    case kind::reads_reference:
      return ray::remote(by_reference)(a, b);
    case kind::returns_future:
      return ray::remote(returns_future)(a);
    case kind::coroutine:
      return ray::remote(coroutine)(a, b);
    case kind::then:
      return a.then([value = one.value](number x) { return mix(x, value); });
    case kind::pair: {
      auto [x, y] = ray::split(ray::when_all(a, b));
      return ray::remote(mix)(std::move(x), std::move(y));
    }
    case kind::nested_get:
      return ray::remote(nested)(a, std::vector{b, a});
    case kind::actor_call:
      return actor.call(&folder::fold, a);
    case kind::fails:
      return ray::remote(throws)(a);
    default:
      return ray::put(one.value);
  }
}

}  // namespace

TEST_CASE("random graphs end as their sequential evaluation says") {
  std::uint32_t seed = 0;
  for (const double cpus : {2.0, 1.5, 4.0}) {
    for (int round = 0; round < 10; ++round) {
      CAPTURE(++seed);
      const auto graph = random_graph(seed, 500);
      const auto expected = evaluate(graph);
      auto session = ray::init({.num_cpus = cpus});
      auto actor = ray::make_actor<folder>();
      std::vector<ray::future<number>> values;
      for (const node& one : graph) {
        values.push_back(values.size() < 3 ? ray::put(one.value) : submit(one, values, actor));
      }
      std::mt19937 random(seed);
      for (std::size_t i = 0; i < graph.size(); ++i) {
        // Some are asked for from the end, so that the getter finds much that is not begun.
        const std::size_t at = random() % 2 == 0 ? i : graph.size() - 1 - i;
        for (const std::size_t index : {at, i}) {
          values[index].wait();
          REQUIRE(values[index].failed() == !expected[index].has_value());
          if (expected[index]) {
            REQUIRE(values[index].get() == *expected[index]);
          } else {
            CHECK_THROWS_AS(values[index].get(), std::domain_error);
          }
        }
      }
    }
  }
}
