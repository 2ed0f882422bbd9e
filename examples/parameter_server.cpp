/// A parameter server: one actor holds the weights of a model, workers bring gradients.
///
/// The model tells the three species of iris apart (softmax regression by stochastic gradient
/// descent). Each worker, an actor too, holds a shard of the flowers. First in step: a round's
/// gradients are taken at the same weights, and the result is that of one serial loop. Then out of
/// step: each worker goes its own pace, with weights that others have changed meanwhile, and the
/// model becomes as good.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <exception>
#include <iostream>
#include <ray/ray.hpp>
#include <utility>
#include <vector>

#include "iris.hpp"
#include "options.hpp"

namespace {

constexpr std::size_t species = 3, inputs = 5;  // four measures and a constant
using vector = std::vector<double>;             // of species x inputs

struct sample {
  std::array<double, inputs> input = {};
  std::size_t label = 0;
};

/// The flowers, each measure with mean 0 and variance 1, in an order that mixes the species.
std::vector<sample> load_flowers() {
  std::array<double, inputs> mean = {}, variance = {};
  for (std::size_t k = 0; k + 1 < inputs; ++k) {
    for (const auto& flower : example::iris) mean[k] += flower[k] / 150.0;
    for (const auto& flower : example::iris) variance[k] += std::pow(flower[k] - mean[k], 2) / 150;
  }
  std::vector<sample> result;
  for (std::size_t i = 0; i < example::iris.size(); ++i) {
    const std::size_t at = i * 37 % example::iris.size();  // 37 and 150 have no common factor
    sample next{.label = at / example::flowers_of_a_species};
    for (std::size_t k = 0; k + 1 < inputs; ++k) {
      next.input[k] = (example::iris[at][k] - mean[k]) / std::sqrt(variance[k]);
    }
    next.input.back() = 1;
    result.push_back(next);
  }
  return result;
}

std::array<double, species> probabilities(const vector& weights, const sample& flower) {
  std::array<double, species> p = {};
  for (std::size_t s = 0; s < species; ++s) {
    for (std::size_t k = 0; k < inputs; ++k) p[s] += weights[s * inputs + k] * flower.input[k];
  }
  const double largest = *std::ranges::max_element(p);
  double sum = 0;
  for (auto& x : p) sum += x = std::exp(x - largest);
  for (auto& x : p) x /= sum;
  return p;
}

/// Adds the gradient of one flower's loss, -log(probability of its species), to `sum`.
void add_gradient(const vector& weights, const sample& flower, vector& sum) {
  const auto p = probabilities(weights, flower);
  for (std::size_t s = 0; s < species; ++s) {
    const double error = p[s] - (s == flower.label ? 1 : 0);
    for (std::size_t k = 0; k < inputs; ++k) sum[s * inputs + k] += error * flower.input[k];
  }
}

// ---- the actors

class server {
 public:
  explicit server(double rate) : rate_(rate), weights_(species * inputs) {}

  [[nodiscard]] const vector& weights() const { return weights_; }

  /// One step down the mean of these gradients. Returns the new weights.
  const vector& apply(const std::vector<vector>& gradients) {
    for (const auto& gradient : gradients) {
      for (std::size_t i = 0; i < weights_.size(); ++i) {
        weights_[i] -= rate_ * gradient[i] / static_cast<double>(gradients.size());
      }
    }
    return weights_;
  }

 private:
  double rate_;
  vector weights_;
};

class worker {
 public:
  worker(std::vector<sample> shard, std::size_t batch) : shard_(std::move(shard)), batch_(batch) {}

  /// The mean gradient of the shard's next batch.
  vector gradient(const vector& weights) {
    vector sum(weights.size());
    for (std::size_t i = 0; i < batch_; ++i) {
      add_gradient(weights, shard_[next_++ % shard_.size()], sum);
    }
    for (auto& x : sum) x /= static_cast<double>(batch_);
    return sum;
  }

  /// Out of step: fetches weights, brings a gradient, and so on. The methods of an actor may wait.
  void train(const ray::actor<server>& weights, int rounds) {
    for (int round = 0; round < rounds; ++round) {
      auto mine = gradient(ray::get(weights.call(&server::weights)));
      weights.call(&server::apply, std::vector<vector>{std::move(mine)});
    }
  }

 private:
  std::vector<sample> shard_;
  std::size_t batch_;
  std::size_t next_ = 0;
};

std::vector<sample> shard_of(const std::vector<sample>& flowers, std::size_t i, std::size_t count) {
  std::vector<sample> shard;
  for (std::size_t k = i; k < flowers.size(); k += count) shard.push_back(flowers[k]);
  return shard;
}

std::vector<ray::actor<worker>> make_workers(const std::vector<sample>& flowers, std::size_t count,
                                             std::size_t batch) {
  std::vector<ray::actor<worker>> workers;
  for (std::size_t i = 0; i < count; ++i) {
    workers.push_back(ray::make_actor<worker>(shard_of(flowers, i, count), batch));
  }
  return workers;
}

// ---- three ways to train

/// Nothing waits here: the weights of a round are a future that the next round's calls depend on.
vector train_in_step(const std::vector<ray::actor<worker>>& workers, double rate, int rounds) {
  const auto weights = ray::make_actor<server>(rate);
  auto current = weights.call(&server::weights);
  for (int round = 0; round < rounds; ++round) {
    std::vector<ray::future<vector>> gradients;
    for (const auto& each : workers) gradients.push_back(each.call(&worker::gradient, current));
    current = weights.call(&server::apply, ray::when_all(gradients));
  }
  return ray::get(current);
}

vector train_out_of_step(const std::vector<ray::actor<worker>>& workers, double rate, int rounds) {
  const auto weights = ray::make_actor<server>(rate / static_cast<double>(workers.size()));
  std::vector<ray::future<void>> ends;
  for (const auto& each : workers) ends.push_back(each.call(&worker::train, weights, rounds));
  ray::get(ends);
  // Asked for by this program, so it could come before the workers' last gradients, and that is
  // fine: the model does not hang on one step.
  return ray::get(weights.call(&server::weights));
}

vector train_serially(const std::vector<sample>& flowers, std::size_t count, std::size_t batch,
                      double rate, int rounds) {
  vector weights(species * inputs);
  for (int round = 0; round < rounds; ++round) {
    vector sum(weights.size());
    for (std::size_t i = 0; i < count; ++i) {
      const auto shard = shard_of(flowers, i, count);
      for (std::size_t k = 0; k < batch; ++k) {
        add_gradient(weights, shard[(static_cast<std::size_t>(round) * batch + k) % shard.size()],
                     sum);
      }
    }
    for (std::size_t i = 0; i < weights.size(); ++i) {
      weights[i] -= rate * sum[i] / static_cast<double>(count * batch);
    }
  }
  return weights;
}

struct quality {
  double loss = 0;
  int right = 0;
};

quality evaluate(const char* name, const vector& weights, const std::vector<sample>& flowers) {
  quality result;
  for (const auto& flower : flowers) {
    const auto p = probabilities(weights, flower);
    result.loss -= std::log(p[flower.label]) / static_cast<double>(flowers.size());
    if (std::ranges::max_element(p) == p.begin() + flower.label) ++result.right;
  }
  std::printf("%-12s loss %.4f, %d of %zu flowers right\n", name, result.loss, result.right,
              flowers.size());
  return result;
}

}  // namespace

int main(int argc, char** argv) try {
  auto session = ray::init(argc, argv);
  example::options options(argc, argv,
                           "Learns to tell three species of iris apart, with a parameter server.");
  const auto count = options.number<std::size_t>("workers", 4, 1, 50, "actors with flowers");
  const auto batch = options.number<std::size_t>("batch", 5, 1, 150, "flowers in a gradient");
  const auto rounds = options.number("rounds", 1'000, 1, 1'000'000, "steps of each worker");
  const auto rate = options.number("rate", 0.1, 1e-6, 1.0, "at which the weights change");
  if (const auto status = options.done()) return *status;

  const auto flowers = load_flowers();
  const auto serial = train_serially(flowers, count, batch, rate, rounds);
  const auto in_step = train_in_step(make_workers(flowers, count, batch), rate, rounds);
  const auto out_of_step = train_out_of_step(make_workers(flowers, count, batch), rate, rounds);

  const auto wanted = evaluate("serial", serial, flowers);
  evaluate("in step", in_step, flowers);
  const auto got = evaluate("out of step", out_of_step, flowers);
  double difference = 0;
  for (std::size_t i = 0; i < serial.size(); ++i) {
    difference = std::max(difference, std::abs(serial[i] - in_step[i]));
  }
  std::printf("in step and serial differ by %.0e at most\n", difference);
  // How good the other one gets depends on who was how fast; a model that learned nothing has 1.1.
  const bool good = difference < 1e-6 && got.loss < wanted.loss + 0.1;
  std::printf("%s\n", good ? "Right" : "WRONG");
  return good ? 0 : 1;
} catch (const std::exception& error) {
  std::cerr << "parameter_server: " << error.what() << '\n';
  return 2;
}
