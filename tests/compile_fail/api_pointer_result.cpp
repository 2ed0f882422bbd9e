// expect: ray: a pointer
#include <ray/ray.hpp>

int* make() { return nullptr; }

void call() { ray::remote(make)().get(); }
