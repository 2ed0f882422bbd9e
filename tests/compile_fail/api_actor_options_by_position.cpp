// expect: ray: options are given by name
#include <ray/ray.hpp>

#include <vector>

struct scores {
  explicit scores(std::vector<int> given) : all(std::move(given)) {}
  std::vector<int> all;
};

auto call() { return ray::make_actor<scores>({1, 2}); }
