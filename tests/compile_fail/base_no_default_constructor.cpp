// expect: ray: a value of this type .* cannot be made when it is loaded
// expect: load_and_construct
#include <ray/serializable.hpp>

struct point {
  explicit point(int value) : x(value) {}
  template <typename Archive>
  void serialize(Archive& archive) {
    archive(x);
  }
  int x;
};

constexpr void check() { ray::require_serializable<std::vector<point>>(); }
