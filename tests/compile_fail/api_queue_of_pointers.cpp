// expect: ray: a pointer cannot travel, its address means nothing in another process
#include <ray/ray.hpp>

void call() { ray::queue<int*> q(1); }
