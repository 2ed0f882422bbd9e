/// Unbalanced tree search (Olivier and others, 2006): trees that cannot be divided in advance.
///
/// How many children a node has follows from its state, a SHA-1 digest, and a child's state is the
/// digest of the parent's and the child's number; so the tree is the same on every machine, and the
/// suite publishes how many nodes each has.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "sha1.hpp"

namespace benchmark::uts {

struct node {
  sha1_digest state = {};
  std::int32_t depth = 0;
};

struct tree {
  const char* name;
  bool geometric;            // else binomial
  double root_children;      // mean in a geometric tree, which has it to `depth_limit`
  std::int32_t depth_limit;  // geometric only
  double probability;        // binomial: of having `children` children
  std::int32_t children;
  std::uint32_t seed;
  std::int64_t nodes, leaves;  // as published
};

inline constexpr std::array<tree, 2> trees = {{
    {"T1 (geometric)", true, 4, 10, 0, 0, 19, 4'130'071, 3'305'118},
    {"T3 (binomial)", false, 2000, 0, 0.124875, 8, 42, 4'112'897, 3'599'034},
}};

inline node root(const tree& t) {
  // 16 zero bytes, then the seed: 20 bytes in all.
  return {sha1({0, 0, 0, 0, t.seed, 0x80000000, 0, 0, 0, 0, 0, 0, 0, 0, 0, 20 * 8}), 0};
}

inline node child(const node& parent, std::int32_t number) {
  const auto& s = parent.state;
  return {sha1({s[0], s[1], s[2], s[3], s[4], static_cast<std::uint32_t>(number), 0x80000000, 0, 0,
                0, 0, 0, 0, 0, 0, 24 * 8}),
          parent.depth + 1};
}

inline std::int32_t children(const tree& t, const node& n) {
  const double random = (n.state[4] & 0x7FFFFFFF) / 2147483648.0;
  if (!t.geometric) {
    if (n.depth == 0) return static_cast<std::int32_t>(t.root_children);
    return random < t.probability ? t.children : 0;
  }
  if (n.depth >= t.depth_limit) return 0;
  const double p = 1 / (1 + t.root_children);
  return std::min(100, static_cast<std::int32_t>(std::log(1 - random) / std::log(1 - p)));
}

struct count {
  std::int64_t nodes = 0, leaves = 0;

  count& operator+=(const count& other) {
    nodes += other.nodes;
    leaves += other.leaves;
    return *this;
  }
};

}  // namespace benchmark::uts
