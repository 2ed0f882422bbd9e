// expect: ray: a std::unique_ptr with a deleter of its own cannot travel
#include <ray/serializable.hpp>

constexpr void check() { ray::require_serializable<std::unique_ptr<int, void (*)(int*)>>(); }
