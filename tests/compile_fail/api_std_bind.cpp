// expect: ray: this callable cannot travel to another process
#include <ray/ray.hpp>

#include <functional>

auto call() { return ray::remote(std::bind(std::plus<>(), 1, 2))(); }
