// expect: ray: the value of a future cannot be converted to the type of the parameter
#include <ray/ray.hpp>

#include <string>

int plus_one(int x) { return x + 1; }

int call() { return ray::remote(plus_one)(ray::put(std::string("one"))).get(); }
