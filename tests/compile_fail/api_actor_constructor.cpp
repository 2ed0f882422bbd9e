// expect: ray: the actor's class cannot be constructed from these arguments
#include <ray/ray.hpp>

#include <string>

struct counter {
  explicit counter(int start) : count(start) {}
  int count;
};

void call() { (void)ray::make_actor<counter>(std::string("one")); }
