// expect: ray: a parameter that is a reference to non-const cannot be used by a task
#include <ray/ray.hpp>

void change(int& x) { ++x; }

void call() { ray::remote(change)(ray::put(1)).get(); }
