// expect: ray: put takes a value; a future is one already
#include <ray/ray.hpp>

void call(ray::future<int> one) { (void)ray::put(one); }
