// expect: ray: the function cannot be called with these arguments: one is missing
#include <ray/ray.hpp>

int plus(int a, int b = 1) { return a + b; }

int call() { return ray::remote(plus)(1).get(); }
