/// American put options by least-squares Monte Carlo (Longstaff and Schwartz, 2001).
///
/// Prices the 20 options of table 1 of that paper: strike 40, interest 6%, exercise possible 50
/// times a year, 100,000 paths (half of them the mirror images of the others). One task prices one
/// option; it spreads the option's paths over blocks, and every block takes one task a date.
/// All random numbers are a function of (seed, option, path, date) and all sums are taken in the
/// order of the blocks, so the prices are the same to the last bit at any number of workers.

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <iostream>
#include <limits>
#include <ray/ray.hpp>
#include <utility>
#include <vector>

#include "options.hpp"
#include "philox.hpp"

namespace {

constexpr double strike = 40;
constexpr double rate = 0.06;
constexpr int dates_per_year = 50;
constexpr double dt = 1.0 / dates_per_year;

struct put_option {
  std::uint32_t number = 0;
  double spot = 0, volatility = 0;
  int years = 0;
};

/// Continuation value of an option: a constant and the first three weighted Laguerre polynomials of
/// price / strike, each times a coefficient.
constexpr std::size_t terms = 4;
using coefficients = std::array<double, terms>;

coefficients basis(double price) {
  const double x = price / strike;
  const double weight = std::exp(-x / 2);
  return {1, weight, weight * (1 - x), weight * (1 - 2 * x + x * x / 2)};
}

/// The normal equations of the regression; sums of several blocks add up.
struct normal_equations {
  std::array<coefficients, terms> left = {};  // the lower triangle
  coefficients right = {};

  void add(const coefficients& row, double value) {
    for (std::size_t i = 0; i < terms; ++i) {
      for (std::size_t j = 0; j <= i; ++j) left[i][j] += row[i] * row[j];
      right[i] += row[i] * value;
    }
  }

  normal_equations& operator+=(const normal_equations& other) {
    for (std::size_t i = 0; i < terms; ++i) {
      for (std::size_t j = 0; j <= i; ++j) left[i][j] += other.left[i][j];
      right[i] += other.right[i];
    }
    return *this;
  }

  template <typename Archive>
  void serialize(Archive& archive) {
    archive(left, right);
  }
};

/// By Cholesky's decomposition. A term that the paths at hand cannot tell from those before it (at
/// dates when few paths or none are in the money) gets the coefficient 0.
coefficients solve(normal_equations sums) {
  auto& l = sums.left;
  std::array<bool, terms> used{};
  for (std::size_t i = 0; i < terms; ++i) {
    const double diagonal = l[i][i];
    for (std::size_t j = 0; j <= i; ++j) {
      for (std::size_t k = 0; k < j; ++k) l[i][j] -= l[i][k] * l[j][k];
      if (j < i) l[i][j] = used[j] ? l[i][j] / l[j][j] : 0;
    }
    used[i] = l[i][i] > 1e-12 * diagonal;
    l[i][i] = used[i] ? std::sqrt(l[i][i]) : 1;
  }
  coefficients x = sums.right;
  for (std::size_t i = 0; i < terms; ++i) {
    for (std::size_t k = 0; k < i; ++k) x[i] -= l[i][k] * x[k];
    x[i] = used[i] ? x[i] / l[i][i] : 0;
  }
  for (std::size_t i = terms; i-- > 0;) {
    for (std::size_t k = i + 1; k < terms; ++k) x[i] -= l[k][i] * x[k];
    x[i] = used[i] ? x[i] / l[i][i] : 0;
  }
  return x;
}

/// The state of some paths at one date, each path beside its mirror image.
struct block {
  std::uint32_t first_path = 0;
  std::vector<double> brownian;  // of each pair, in units of sqrt(dt)
  std::vector<double> price;     // of each path: pair 0, its mirror image, pair 1, ...
  std::vector<double> value;     // of the option on that path, as of this date
  normal_equations sums;         // of the paths that are in the money

  template <typename Archive>
  void serialize(Archive& archive) {
    archive(first_path, brownian, price, value, sums);
  }
};

/// Sets `price` from `brownian`. The mirror image has the opposite Brownian motion.
void set_prices(const put_option& put, block& paths, int date) {
  const double drift = (rate - put.volatility * put.volatility / 2) * date * dt;
  const double forward = put.spot * std::exp(drift);
  const double scale = put.volatility * std::sqrt(dt);
  for (std::size_t i = 0; i < paths.brownian.size(); ++i) {
    const double growth = std::exp(scale * paths.brownian[i]);
    paths.price[2 * i] = forward * growth;
    paths.price[2 * i + 1] = forward / growth;
  }
}

/// Takes the Brownian motion from `date + 1` to `date`. Backwards it is a bridge to the 0 of date
/// 0, so no path has to be kept; at the last date it comes out of nothing.
void draw(const put_option& put, block& paths, int date, bool last, std::uint64_t seed) {
  const double keep = last ? 0 : double(date) / (date + 1);
  const double spread = last ? std::sqrt(double(date)) : std::sqrt(keep);
  const auto day = static_cast<std::uint32_t>(date);
  for (std::size_t i = 0; i < paths.brownian.size(); i += 2) {
    const auto path = paths.first_path + static_cast<std::uint32_t>(i);
    const auto random = example::normals({path, day, put.number, 0}, seed);
    paths.brownian[i] = keep * paths.brownian[i] + spread * random[0];
    if (i + 1 < paths.brownian.size()) {
      paths.brownian[i + 1] = keep * paths.brownian[i + 1] + spread * random[1];
    }
  }
}

/// Exercises where that is worth more than going on, as `rule` says.
void exercise(block& paths, const coefficients& rule) {
  for (std::size_t i = 0; i < paths.price.size(); ++i) {
    const double now = strike - paths.price[i];
    if (now <= 0) continue;
    const auto row = basis(paths.price[i]);
    double later = 0;
    for (std::size_t k = 0; k < terms; ++k) later += rule[k] * row[k];
    if (now > later) paths.value[i] = now;
  }
}

// ---- the tasks

/// A block of paths at maturity, where the option is worth what exercising it brings.
block at_maturity(const put_option& put, std::uint32_t first_path, std::uint32_t pairs,
                  std::uint64_t seed) {
  block paths{first_path, std::vector<double>(pairs), std::vector<double>(2 * pairs), {}, {}};
  const int date = put.years * dates_per_year;
  draw(put, paths, date, true, seed);
  set_prices(put, paths, date);
  for (const double price : paths.price) paths.value.push_back(std::max(strike - price, 0.0));
  return paths;
}

/// The same paths one date earlier. `rule` says when to exercise at the date they come from; the
/// block is moved in and out, since nobody else holds it.
block step_back(const put_option& put, block paths, const coefficients& rule, int date,
                std::uint64_t seed) {
  exercise(paths, rule);
  draw(put, paths, date, false, seed);
  set_prices(put, paths, date);
  const double discount = std::exp(-rate * dt);
  paths.sums = {};
  for (std::size_t i = 0; i < paths.value.size(); ++i) {
    paths.value[i] *= discount;
    if (paths.price[i] < strike) paths.sums.add(basis(paths.price[i]), paths.value[i]);
  }
  return paths;
}

struct estimate {
  double price = 0, standard_error = 0;
};

/// One option: blocks of paths go back in time together, since the rule of a date comes from all.
estimate price(const put_option& put, std::uint32_t pairs, std::uint32_t block_size,
               std::uint64_t seed) {
  const auto start = ray::remote(at_maturity);
  const auto earlier = ray::remote(step_back);

  std::vector<ray::future<block>> blocks;
  for (std::uint32_t first = 0; first < pairs; first += block_size) {
    blocks.push_back(start(put, first, std::min(block_size, pairs - first), seed));
  }
  // At maturity there is nothing to decide: going on is worth more than anything.
  coefficients rule = {std::numeric_limits<double>::infinity(), 0, 0, 0};
  for (int date = put.years * dates_per_year - 1; date > 0; --date) {
    for (auto& paths : blocks) paths = earlier(put, std::move(paths), rule, date, seed);
    normal_equations sums;
    for (const auto& paths : blocks) sums += paths.view()->sums;
    rule = solve(sums);
  }

  double sum = 0, squares = 0;  // of the means of path and mirror image, which are independent
  for (auto& future : blocks) {
    block paths = ray::get(std::move(future));
    exercise(paths, rule);
    for (std::size_t i = 0; i < paths.value.size(); i += 2) {
      const double mean = (paths.value[i] + paths.value[i + 1]) / 2 * std::exp(-rate * dt);
      sum += mean;
      squares += mean * mean;
    }
  }
  const double mean = sum / pairs;
  // Today is a date to exercise as well.
  return {std::max(mean, strike - put.spot),
          std::sqrt(std::max(squares / pairs - mean * mean, 0.0) / (pairs - 1))};
}

// ---- the program

/// A row of table 1: the option, the prices by finite differences, the paper's simulation.
struct table_row {
  put_option put;
  double finite_differences, simulated, standard_error;
};

// clang-format off
constexpr std::array<table_row, 20> table_1 = {{
    {{ 0, 36, .2, 1}, 4.478, 4.472, .010}, {{ 1, 36, .2, 2}, 4.840, 4.821, .012},
    {{ 2, 36, .4, 1}, 7.101, 7.091, .020}, {{ 3, 36, .4, 2}, 8.508, 8.488, .024},
    {{ 4, 38, .2, 1}, 3.250, 3.244, .009}, {{ 5, 38, .2, 2}, 3.745, 3.735, .011},
    {{ 6, 38, .4, 1}, 6.148, 6.139, .019}, {{ 7, 38, .4, 2}, 7.670, 7.669, .022},
    {{ 8, 40, .2, 1}, 2.314, 2.313, .009}, {{ 9, 40, .2, 2}, 2.885, 2.879, .010},
    {{10, 40, .4, 1}, 5.312, 5.308, .018}, {{11, 40, .4, 2}, 6.920, 6.921, .022},
    {{12, 42, .2, 1}, 1.617, 1.617, .007}, {{13, 42, .2, 2}, 2.212, 2.206, .010},
    {{14, 42, .4, 1}, 4.582, 4.588, .017}, {{15, 42, .4, 2}, 6.248, 6.243, .021},
    {{16, 44, .2, 1}, 1.110, 1.118, .007}, {{17, 44, .2, 2}, 1.690, 1.675, .009},
    {{18, 44, .4, 1}, 3.948, 3.957, .017}, {{19, 44, .4, 2}, 5.647, 5.622, .021},
}};
// clang-format on

/// Draws over its own last line, and only where somebody watches.
void show_progress(std::size_t done, std::size_t all) {
  if (isatty(STDERR_FILENO) == 0) return;
  const std::size_t width = 40, full = width * done / all;
  std::cerr << "\r[" << std::string(full, '#') << std::string(width - full, ' ') << "] " << done
            << " of " << all << " options" << (done == all ? "\r\033[K" : "") << std::flush;
}

}  // namespace

int main(int argc, char** argv) try {
  auto session = ray::init(argc, argv);
  example::options options(argc, argv,
                           "Prices the 20 American puts of table 1 of Longstaff and Schwartz (2001)"
                           " by least-squares\nMonte Carlo and compares them with the paper's.");
  const auto paths = options.number<std::uint32_t>("paths", 100'000, 1'000, 100'000'000,
                                                   "paths of each option, with mirror images");
  const auto block_size =
      options.number<std::uint32_t>("block", 10'000, 100, 10'000'000, "paths in one task");
  const auto seed = options.number<std::uint64_t>(
      "seed", 1, 0, std::numeric_limits<std::uint64_t>::max(), "of the random numbers");
  if (const auto status = options.done()) return *status;

  const auto begin = std::chrono::steady_clock::now();
  const auto run = ray::remote(price);
  std::vector<ray::future<estimate>> prices;
  for (const auto& row : table_1) {
    // Blocks begin at even paths, since two paths share a random number's counter.
    prices.push_back(run(row.put, paths / 2, block_size / 4 * 2, seed));
  }
  std::size_t done = 0;
  show_progress(done, prices.size());
  for (const auto& ended : ray::as_completed(prices)) {
    (void)ended;
    show_progress(++done, prices.size());
  }

  std::printf("              |          table 1 (2001)         |  this run, %9u paths\n", paths);
  std::printf("   S    s   T | differences  simulated   (s.e.) |   price   (s.e.)  difference\n");
  std::printf("--------------+---------------------------------+-----------------------------\n");
  bool good = true;
  double worst = 0;
  for (std::size_t i = 0; i < prices.size(); ++i) {
    const auto& [put, differences, simulated, error] = table_1[i];
    const auto result = ray::get(prices[i]);
    const double off = result.price - differences;
    // Four standard errors for the noise. The rest is the method's own error: too simple a rule
    // prices too low, a rule fitted to few paths prices too high.
    const bool fits = std::abs(off) < 4 * result.standard_error + 0.01 + 200.0 / paths;
    good = good && fits;
    worst = std::max(worst, std::abs(off));
    std::printf("%4.0f %4.1f %3d |    %8.3f   %8.3f   (%.3f) |%8.3f   (%.3f)   %+9.3f%s\n",
                put.spot, put.volatility, put.years, differences, simulated, error, result.price,
                result.standard_error, off, fits ? "" : "  WRONG");
  }
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
  std::printf("\n%s: the largest difference from the table's finite differences is %.3f (%.1f s)\n",
              good ? "Right" : "WRONG", worst, time.count());
  return good ? 0 : 1;
} catch (const std::exception& error) {
  std::cerr << "american_options: " << error.what() << '\n';
  return 2;
}
