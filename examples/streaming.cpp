/// A stream of results that ends when the reader has seen enough.
///
/// A generator simulates a European call option in batches, for ever. This program reads them as
/// they come, and drops the stream once the standard error is small enough, which cancels the
/// generator. It never runs far ahead: with `stream_buffer` batches unread it waits, without
/// holding a thread. A gauge, an actor, watches by how much the generator was ever ahead.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <iostream>
#include <numbers>
#include <ray/ray.hpp>

#include "options.hpp"
#include "philox.hpp"

namespace {

constexpr double spot = 100, strike = 100, rate = 0.05, volatility = 0.2, years = 1;

/// Black and Scholes (1973): what the simulation must come near to.
double exact_price() {
  const auto normal = [](double x) { return std::erfc(-x / std::numbers::sqrt2) / 2; };
  const double spread = volatility * std::sqrt(years);
  const double d = (std::log(spot / strike) + rate * years) / spread + spread / 2;
  return spot * normal(d) - strike * std::exp(-rate * years) * normal(d - spread);
}

struct batch {
  std::int64_t paths = 0;
  double sum = 0, squares = 0;

  batch& operator+=(const batch& other) {
    paths += other.paths;
    sum += other.sum;
    squares += other.squares;
    return *this;
  }
  [[nodiscard]] double mean() const { return sum / static_cast<double>(paths); }
  [[nodiscard]] double standard_error() const {
    const auto n = static_cast<double>(paths);
    return std::sqrt(std::max(squares / n - mean() * mean(), 0.0) / n);
  }
};

batch simulate(std::uint32_t number, std::uint32_t paths, std::uint64_t seed) {
  batch result{.paths = 2 * std::int64_t{paths}};
  const double drift = (rate - volatility * volatility / 2) * years;
  for (std::uint32_t path = 0; path < paths; ++path) {
    for (const double z : example::normals({path, number, 0, 0}, seed)) {
      const double price = spot * std::exp(drift + volatility * std::sqrt(years) * z);
      const double payoff = std::exp(-rate * years) * std::max(price - strike, 0.0);
      result.sum += payoff;
      result.squares += payoff * payoff;
    }
  }
  return result;
}

/// Counts what was made and what was read.
class gauge {
 public:
  void made() { most_ = std::max(most_, ++made_ - read_); }
  void read() { ++read_; }
  [[nodiscard]] std::int64_t most_ahead() const { return most_; }

 private:
  std::int64_t made_ = 0, read_ = 0, most_ = 0;
};

/// The task. It has no end of its own; it waits in `co_yield` while the reader is behind.
ray::generator<batch> batches(std::uint32_t paths, std::uint64_t seed, ray::actor<gauge> watch) {
  for (std::uint32_t number = 0;; ++number) {
    const batch result = simulate(number, paths, seed);
    co_await watch.call(&gauge::made);
    co_yield result;
  }
}

}  // namespace

int main(int argc, char** argv) try {
  auto session = ray::init(argc, argv);
  example::options options(argc, argv,
                           "Prices a call option by a stream of simulations that is read until the"
                           " price is\ngood enough.");
  const auto target = options.number("error", 0.01, 0.0005, 10.0, "standard error to stop at");
  const auto paths = options.number<std::uint32_t>("paths", 20'000, 100, 100'000'000, "in a batch");
  const auto buffer = options.number<std::size_t>("buffer", 4, 1, 1'000, "batches unread at most");
  const auto seed = options.number<std::uint64_t>("seed", 1, 0, 1'000'000, "of the random numbers");
  if (const auto status = options.done()) return *status;

  const auto watch = ray::make_actor<gauge>();
  batch all;
  std::uint32_t count = 0;
  std::int64_t ahead = 0;
  {
    auto stream = ray::remote(batches).with({.stream_buffer = buffer})(paths / 2, seed, watch);
    for (const batch& next : stream) {
      ray::get(watch.call(&gauge::read));
      all += next;
      ++count;
      if ((count & (count - 1)) == 0) {
        std::printf("%6u batches: %8.4f (s.e. %.4f)\n", count, all.mean(), all.standard_error());
      }
      if (count > 1 && all.standard_error() < target) break;
    }
    ahead = ray::get(watch.call(&gauge::most_ahead));
  }  // the stream goes, and the generator with it

  batch again;
  for (std::uint32_t number = 0; number < count; ++number) {
    again += simulate(number, paths / 2, seed);
  }
  const double off = all.mean() - exact_price();
  // One batch more is made before it is counted as unread, and one is read before it is told.
  const bool held_back = ahead <= static_cast<std::int64_t>(buffer) + 2;
  const bool same = again.sum == all.sum && again.squares == all.squares;
  const bool good = held_back && same && std::abs(off) < 4 * all.standard_error();
  std::printf("%6u batches: %8.4f (s.e. %.4f), exact %.4f: off by %.1f standard errors\n", count,
              all.mean(), all.standard_error(), exact_price(), off / all.standard_error());
  std::printf("the generator was at most %lld batches ahead; the sums %s those of one loop\n",
              static_cast<long long>(ahead), same ? "are" : "are NOT");
  std::printf("%s\n", good ? "Right" : "WRONG");
  return good ? 0 : 1;
} catch (const std::exception& error) {
  std::cerr << "streaming: " << error.what() << '\n';
  return 2;
}
