// A small program against ray as an installed library: two translation units, a task, an actor, an
// object. Every kind of consumer is this program, built in another way.
#include <ray/ray.hpp>

#include <iostream>

// Defined in other.cpp, which includes <ray/ray.hpp> too.
ray::future<int> square_of_a_future(const ray::future<int>& value);

namespace {

struct sum {
  int value = 0;
  int add(int x) { return value += x; }
};

int twice(int x) { return 2 * x; }

}  // namespace

int main(int argc, char** argv) {
  auto session = ray::init(argc, argv);

  auto doubled = ray::remote(twice)(ray::put(10));
  auto total = ray::make_actor<sum>();
  total.call(&sum::add, doubled);
  const int result = ray::get(total.call(&sum::add, square_of_a_future(doubled)));

  std::cout << "20 + 400 = " << result << '\n';
  return result == 420 ? 0 : 1;
}
