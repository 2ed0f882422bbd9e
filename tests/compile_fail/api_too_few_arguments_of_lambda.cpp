// expect: ray: the function cannot be called with these arguments: one is missing
#include <ray/ray.hpp>

int call() {
  return ray::remote([](auto a, auto b) { return a + b; })(1).get();
}
