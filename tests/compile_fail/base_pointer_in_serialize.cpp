// expect: ray: a pointer cannot travel, its address means nothing in another process
#include <ray/detail/base/value_operations_of.hpp>

struct list {
  template <typename Archive>
  void serialize(Archive& archive) {
    archive(first);
  }
  int* first = nullptr;
};

const auto& check() { return ray::detail::value_operations_of<list>(); }
