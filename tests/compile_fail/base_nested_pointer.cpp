// expect: ray: a pointer cannot travel, its address means nothing in another process
// expect: std::vector<const char\*
#include <ray/serializable.hpp>

constexpr void check() { ray::require_serializable<std::map<int, std::vector<const char*>>>(); }
