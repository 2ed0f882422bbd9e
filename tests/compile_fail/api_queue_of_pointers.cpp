// expect: ray: a pointer
#include <ray/ray.hpp>

void call() { ray::queue<int*> q(1); }
