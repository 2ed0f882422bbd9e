// expect: ray: a parameter that is a reference to non-const cannot be used by a task
#include <ray/ray.hpp>

void change(int& x) { ++x; }

void call(int x) { ray::remote(change)(x).get(); }
