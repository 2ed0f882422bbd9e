// expect: ray: a future<void> has no value to pass
#include <ray/ray.hpp>

int plus_one(int x) { return x + 1; }

int call(ray::future<void> none) { return ray::remote(plus_one)(none).get(); }
