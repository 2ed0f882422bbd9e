// expect: ray: a reference \(std::reference_wrapper too\) cannot travel
#include <ray/serializable.hpp>

constexpr void check() { ray::require_serializable<std::vector<std::reference_wrapper<int>>>(); }
