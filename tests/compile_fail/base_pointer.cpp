// expect: ray: a pointer cannot travel, its address means nothing in another process
#include <ray/serializable.hpp>

constexpr void check() { ray::require_serializable<int*>(); }
