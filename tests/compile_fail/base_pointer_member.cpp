// expect: ray: this aggregate has a member that cannot travel
// expect: ray: a pointer cannot travel, its address means nothing in another process
#include <ray/serializable.hpp>

struct inner {
  int count;
  double* values;
};

struct outer {
  int id;
  inner part;
};

constexpr void check() { ray::require_serializable<std::vector<outer>>(); }
