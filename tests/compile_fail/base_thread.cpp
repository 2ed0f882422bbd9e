// expect: ray: this class cannot be turned into bytes
#include <ray/serializable.hpp>
#include <thread>

constexpr void check() { ray::require_serializable<std::map<int, std::thread>>(); }
