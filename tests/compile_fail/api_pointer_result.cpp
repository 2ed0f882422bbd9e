// expect: ray: a pointer cannot travel, its address means nothing in another process
#include <ray/ray.hpp>

int* make() { return nullptr; }

void call() { ray::remote(make)().get(); }
