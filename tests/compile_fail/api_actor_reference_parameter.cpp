// expect: ray: a parameter that is a reference to non-const cannot be used by a task
#include <ray/ray.hpp>

struct counter {
  int count = 0;
  void read(int& into) { into = count; }
};

void call(const ray::actor<counter>& one, int n) { one.call(&counter::read, n); }
