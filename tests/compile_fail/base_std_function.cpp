// expect: ray: a std::function cannot travel
#include <ray/serializable.hpp>

constexpr void check() { ray::require_serializable<std::function<int(int)>>(); }
