// expect: ray: a pointer to a function cannot travel as a value
#include <ray/serializable.hpp>

constexpr void check() { ray::require_serializable<double (*)(double)>(); }
