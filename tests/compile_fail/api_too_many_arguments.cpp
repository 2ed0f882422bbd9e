// expect: ray: more arguments than the function has parameters
#include <ray/ray.hpp>

int plus_one(int x) { return x + 1; }

int call() { return ray::remote(plus_one)(1, 2).get(); }
