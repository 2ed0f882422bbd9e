// expect: ray: nobody can look into this class
// expect: is_trivially_serializable
#include <ray/serializable.hpp>

class money {
 public:
  explicit money(long cents) : cents_(cents) {}
  long cents() const { return cents_; }

 private:
  long cents_;
};

constexpr void check() { ray::require_serializable<std::vector<money>>(); }
