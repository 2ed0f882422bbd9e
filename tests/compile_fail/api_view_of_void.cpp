// expect: error
// expect: view
#include <ray/ray.hpp>

void call(const ray::future<void>& none) { (void)none.view(); }
