// expect: ray: a member function that is qualified with & cannot be a task
#include <ray/ray.hpp>

struct counter {
  int count = 0;
  int add(int n) & { return count += n; }
};

int call() { return ray::remote(&counter::add)(counter(), 1).get(); }
