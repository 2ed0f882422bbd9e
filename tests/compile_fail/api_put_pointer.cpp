// expect: ray: a pointer
#include <ray/ray.hpp>

void call(int* one) { (void)ray::put(one); }
