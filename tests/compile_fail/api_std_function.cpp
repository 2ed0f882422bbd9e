// expect: ray: this callable cannot travel to another process
#include <ray/ray.hpp>

#include <functional>

auto call(std::function<int()> function) { return ray::remote(function)(); }
