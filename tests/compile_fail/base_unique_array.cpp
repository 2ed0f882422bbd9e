// expect: ray: a smart pointer to an array cannot travel, its length is unknown
#include <ray/serializable.hpp>

constexpr void check() { ray::require_serializable<std::unique_ptr<double[]>>(); }
