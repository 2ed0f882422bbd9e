// expect: ray: a union cannot travel
#include <ray/serializable.hpp>

union number {
  int whole;
  float real;
};

struct tagged {
  bool is_whole;
  number value;
};

constexpr void check() { ray::require_serializable<tagged>(); }
