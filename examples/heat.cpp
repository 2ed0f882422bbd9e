/// Heat in a square plate: a grid cut into strips, each of them an actor.
///
/// The equation u_t = u_xx + u_yy with cold edges, in explicit steps. A strip needs the outermost
/// rows of its neighbours, its halo, before each step. They travel as futures: a step's result is
/// the pair of new outermost rows, and the neighbours take them as arguments of their next step. So
/// all steps are asked for at once, nothing waits in this program, and no strip waits for any other
/// but its neighbours.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <exception>
#include <iostream>
#include <iterator>
#include <numbers>
#include <ray/ray.hpp>
#include <tuple>
#include <utility>
#include <vector>

#include "options.hpp"

namespace {

using row = std::vector<double>;

/// The rows [first, last) of a grid of n by n cells, whose points 0 and n are its cold edges.
class strip {
 public:
  strip(int first, int last, int n, double ratio) : ratio_(ratio) {
    // One mode of the plate: the product of two sines keeps its shape and only decays.
    for (int y = first; y < last; ++y) {
      row values;
      for (int x = 0; x <= n; ++x) values.push_back(wave(x, n) * wave(y, n));
      values.front() = values.back() = 0;
      rows_.push_back(std::move(values));
    }
  }

  /// The first and the last row.
  [[nodiscard]] std::tuple<row, row> edges() const { return {rows_.front(), rows_.back()}; }

  std::tuple<row, row> step(const row& above, const row& below) {
    std::vector<row> next = rows_;
    for (std::size_t y = 0; y < rows_.size(); ++y) {
      const row& up = y == 0 ? above : rows_[y - 1];
      const row& middle = rows_[y];
      const row& down = y + 1 == rows_.size() ? below : rows_[y + 1];
      for (std::size_t x = 1; x + 1 < middle.size(); ++x) {
        next[y][x] =
            middle[x] + ratio_ * (up[x] + down[x] + middle[x - 1] + middle[x + 1] - 4 * middle[x]);
      }
    }
    rows_ = std::move(next);
    return edges();
  }

  [[nodiscard]] std::vector<row> rows() const { return rows_; }

  [[nodiscard]] static double wave(int i, int n) { return std::sin(std::numbers::pi * i / n); }

 private:
  double ratio_;
  std::vector<row> rows_;
};

std::vector<row> run(int n, double ratio, int steps, int count) {
  const auto cold = ray::put(row(static_cast<std::size_t>(n) + 1));
  std::vector<ray::actor<strip>> strips;
  std::vector<std::tuple<ray::future<row>, ray::future<row>>> edges;
  for (int i = 0; i < count; ++i) {
    // The inner rows 1 to n - 1, as evenly as they divide.
    const int first = 1 + (n - 1) * i / count;
    const int last = 1 + (n - 1) * (i + 1) / count;
    strips.push_back(ray::make_actor<strip>(first, last, n, ratio));
    edges.push_back(ray::split(strips.back().call(&strip::edges)));
  }
  for (int step = 0; step < steps; ++step) {
    std::vector<std::tuple<ray::future<row>, ray::future<row>>> next;
    for (std::size_t i = 0; i < strips.size(); ++i) {
      const auto& above = i == 0 ? cold : std::get<1>(edges[i - 1]);
      const auto& below = i + 1 == strips.size() ? cold : std::get<0>(edges[i + 1]);
      next.push_back(ray::split(strips[i].call(&strip::step, above, below)));
    }
    edges = std::move(next);
  }
  std::vector<ray::future<std::vector<row>>> parts;
  for (const auto& strip : strips) parts.push_back(strip.call(&strip::rows));
  std::vector<row> grid;
  for (auto& part : ray::get(std::move(parts))) std::ranges::move(part, std::back_inserter(grid));
  return grid;
}

std::vector<row> run_serially(int n, double ratio, int steps) {
  const row cold(static_cast<std::size_t>(n) + 1);
  strip all(1, n, n, ratio);
  for (int step = 0; step < steps; ++step) all.step(cold, cold);
  return all.rows();
}

}  // namespace

int main(int argc, char** argv) try {
  auto session = ray::init(argc, argv);
  example::options options(argc, argv, "Heat in a square plate, in strips that are actors.");
  const auto n = options.number("cells", 64, 2, 10'000, "along each side of the grid");
  const auto ratio = options.number("ratio", 0.2, 0.0, 0.25, "time step / cell width squared");
  const auto steps = options.number("steps", 1'000, 0, 1'000'000, "of time");
  const auto strips = options.number("strips", 4, 1, 10'000, "actors, at most one a row");
  if (const auto status = options.done()) return *status;

  const auto begin = std::chrono::steady_clock::now();
  const auto grid = run(n, ratio, steps, std::min(strips, n - 1));
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;

  // What one step does to this mode of the grid is known exactly.
  const double half = std::sin(std::numbers::pi / (2 * n));
  const double decay = std::pow(1 - 8 * ratio * half * half, steps);
  double error = 0;
  for (int y = 1; y < n; ++y) {
    for (int x = 0; x <= n; ++x) {
      const double exact = decay * strip::wave(x, n) * strip::wave(y, n);
      const auto i = static_cast<std::size_t>(y - 1), j = static_cast<std::size_t>(x);
      error = std::max(error, std::abs(grid[i][j] - exact));
    }
  }
  const bool same = grid == run_serially(n, ratio, steps);
  const auto middle = static_cast<std::size_t>(n / 2);
  std::printf("%d x %d cells, %d steps, %d strips: %.2f s\n", n, n, steps, std::min(strips, n - 1),
              time.count());
  std::printf("the middle has cooled to %.12f, as the exact solution to within %.0e\n",
              grid[middle - 1][middle], error);
  std::printf("%s the serial run, to the last bit\n", same ? "equal to" : "NOT EQUAL to");
  const bool good = same && error < 1e-11;
  std::printf("%s\n", good ? "Right" : "WRONG");
  return good ? 0 : 1;
} catch (const std::exception& error) {
  std::cerr << "heat: " << error.what() << '\n';
  return 2;
}
