// expect: error
#include <ray/ray.hpp>

int plus(int a, int b) { return a + b; }

auto call() { return ray::remote(plus, "name"); }
