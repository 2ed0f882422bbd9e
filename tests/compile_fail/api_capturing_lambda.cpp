// expect: ray: this callable cannot travel to another process: .*ray::bind\(f, values\.\.\.\)
#include <ray/ray.hpp>

int captured(int x) {
  return ray::remote([x](int y) { return x + y; })(1).get();
}
