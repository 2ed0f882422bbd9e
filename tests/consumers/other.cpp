// The second translation unit of the consumer: what both include must not be defined twice.
#include <ray/ray.hpp>

ray::future<int> square_of_a_future(const ray::future<int>& value) {
  return ray::remote([](int x) { return x * x; })(value);
}
