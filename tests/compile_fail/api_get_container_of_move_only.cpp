// expect: ray: get of a const future copies its value, and this type cannot be copied
#include <ray/ray.hpp>

#include <memory>
#include <vector>

void call(const ray::future<std::vector<std::unique_ptr<int>>>& one) { (void)ray::get(one); }
