// expect: ray: get of a const future copies its value, and this type cannot be copied
#include <ray/ray.hpp>

#include <memory>

int call(const ray::future<std::unique_ptr<int>>& one) { return *ray::get(one); }
