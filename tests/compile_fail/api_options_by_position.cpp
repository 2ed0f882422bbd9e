// expect: ray: options are given by name
#include <ray/ray.hpp>

int plus(int a, int b) { return a + b; }

auto call() { return ray::remote(plus, {1, 2}); }
