// expect: ray: a pointer
#include <ray/ray.hpp>

int read(const int* where) { return *where; }

int call(int x) { return ray::remote(ray::bind(read, &x))().get(); }
