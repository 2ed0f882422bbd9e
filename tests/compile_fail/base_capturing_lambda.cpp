// expect: ray: a lambda with captures cannot travel
#include <ray/serializable.hpp>

void check() {
  int x = 1;
  auto add = [x](int y) { return x + y; };
  ray::require_serializable<decltype(add)>();
}
