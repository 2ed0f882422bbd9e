#include <ray/ray.hpp>

namespace {

// The same name as in the other file, and another function.
int triple(int x) { return 4 * x; }

}  // namespace

int from_second() { return ray::get(ray::remote(triple)(ray::put(2))); }
