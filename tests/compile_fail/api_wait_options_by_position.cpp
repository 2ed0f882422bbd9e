// expect: ray: options are given by name
#include <ray/ray.hpp>

#include <vector>

auto call(const std::vector<ray::future<int>>& all) { return ray::wait(all, {2}); }
