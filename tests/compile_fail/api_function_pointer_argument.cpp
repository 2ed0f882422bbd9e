// expect: ray: a pointer to a function cannot travel as a value
#include <ray/ray.hpp>

int apply(int (*function)(int)) { return function(1); }
int plus_one(int x) { return x + 1; }

int call() { return ray::remote(apply)(plus_one).get(); }
