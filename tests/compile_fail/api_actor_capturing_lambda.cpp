// expect: ray: this callable cannot travel to another process
#include <ray/ray.hpp>

struct counter {
  int count = 0;
};

void call(const ray::actor<counter>& one, int n) {
  one.call([n](counter& self) { self.count += n; });
}
