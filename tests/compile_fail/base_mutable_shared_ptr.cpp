// expect: ray: a std::shared_ptr to what can change cannot travel
#include <ray/serializable.hpp>

constexpr void check() { ray::require_serializable<std::optional<std::shared_ptr<int>>>(); }
