// expect: ray: a stream cannot travel
#include <ray/ray.hpp>

int first(ray::stream<int> numbers) { return *numbers.next(); }

int call(ray::stream<int> numbers) { return ray::remote(first)(std::move(numbers)).get(); }
