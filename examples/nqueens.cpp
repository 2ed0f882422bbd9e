/// In how many ways can n queens stand on an n by n board so that none attacks another?
///
/// A task places the queen of one row and starts a task for each square where it may stand; below
/// the first few rows it goes on alone. Tasks that wait for tasks, to any depth.

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <iostream>
#include <ray/ray.hpp>
#include <vector>

#include "options.hpp"

namespace {

/// The squares of the next row that are under attack, a bit each.
struct board {
  std::uint32_t columns = 0, left = 0, right = 0;

  [[nodiscard]] board with_queen(std::uint32_t square) const {
    return {columns | square, (left | square) << 1, (right | square) >> 1};
  }
};

std::int64_t count_alone(const board& b, std::uint32_t all) {
  if (b.columns == all) return 1;
  std::int64_t sum = 0;
  for (std::uint32_t free = all & ~(b.columns | b.left | b.right); free != 0; free &= free - 1) {
    sum += count_alone(b.with_queen(free & (~free + 1)), all);
  }
  return sum;
}

/// The task; `rows` is for how many more rows it starts tasks.
std::int64_t count(const board& b, std::uint32_t all, int rows) {
  if (rows == 0 || b.columns == all) return count_alone(b, all);
  std::vector<ray::future<std::int64_t>> parts;
  for (std::uint32_t free = all & ~(b.columns | b.left | b.right); free != 0; free &= free - 1) {
    parts.push_back(ray::remote(count)(b.with_queen(free & (~free + 1)), all, rows - 1));
  }
  std::int64_t sum = 0;
  for (const auto part : ray::get(parts)) sum += part;
  return sum;
}

// Sequence A000170 of the On-Line Encyclopedia of Integer Sequences, from n = 1.
constexpr std::array<std::int64_t, 18> known = {
    1,   0,    0,     2,     10,     4,       40,       92,       352,
    724, 2680, 14200, 73712, 365596, 2279184, 14772512, 95815104, 666090624};

}  // namespace

int main(int argc, char** argv) try {
  auto session = ray::init(argc, argv);
  example::options options(argc, argv,
                           "Counts the ways to place n queens, none attacking another.");
  const auto n = options.number<std::uint32_t>("n", 14, 1, 18, "queens, and rows of the board");
  const auto rows = options.number("rows", 3, 0, 18, "rows whose squares are tasks");
  if (const auto status = options.done()) return *status;

  const auto begin = std::chrono::steady_clock::now();
  const auto ways = ray::get(ray::remote(count)(board{}, (1U << n) - 1, rows));
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
  const bool good = ways == known[n - 1];
  std::printf("%u queens: %lld ways in %.2f s\n%s\n", n, static_cast<long long>(ways), time.count(),
              good ? "Right" : "WRONG");
  return good ? 0 : 1;
} catch (const std::exception& error) {
  std::cerr << "nqueens: " << error.what() << '\n';
  return 2;
}
