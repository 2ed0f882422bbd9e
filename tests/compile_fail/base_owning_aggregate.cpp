// expect: ray: this aggregate is not trivially copyable
// expect: serialize\(Archive& archive\)
#include <ray/serializable.hpp>

struct person {
  std::string name;
  int age;
};

constexpr void check() { ray::require_serializable<person>(); }
