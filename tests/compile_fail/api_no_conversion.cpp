// expect: ray: an argument cannot be converted to the type of its parameter
#include <ray/ray.hpp>

#include <string>

int plus_one(int x) { return x + 1; }

int call() { return ray::remote(plus_one)(std::string("one")).get(); }
