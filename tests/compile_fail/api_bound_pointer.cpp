// expect: ray: a pointer cannot travel, its address means nothing in another process
#include <ray/ray.hpp>

int look_at(const int* where) { return *where; }

int call(int x) { return ray::remote(ray::bind(look_at, &x))().get(); }
