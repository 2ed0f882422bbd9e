// expect: no matching function for call to .ray::future<void>::view\(\)|invalid reference to
// function 'view': constraints not satisfied
#include <ray/ray.hpp>

void call(const ray::future<void>& none) { (void)none.view(); }
