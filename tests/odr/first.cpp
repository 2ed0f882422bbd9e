// Two translation units include the whole API and instantiate the same templates: what a header
// defines must be inline, and the two must agree on it.
#include <ray/ray.hpp>

#include <iostream>

int from_second();

namespace {

int triple(int x) { return 3 * x; }

}  // namespace

int main() {
  auto session = ray::init();
  const int first = ray::get(ray::remote(triple)(ray::put(2)));
  const int second = from_second();
  std::cout << first << " and " << second << '\n';
  return first == 6 && second == 8 ? 0 : 1;
}
