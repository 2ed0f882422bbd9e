// expect: ray: this type is only declared here
#include <ray/serializable.hpp>

class later;

constexpr void check() { ray::require_serializable<later>(); }
