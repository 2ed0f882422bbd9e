// expect: ray: a container whose comparator or hash function has state cannot travel
#include <ray/serializable.hpp>

constexpr void check() { ray::require_serializable<std::set<int, bool (*)(int, int)>>(); }
