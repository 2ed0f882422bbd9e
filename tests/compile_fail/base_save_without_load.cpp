// expect: ray: this class can be saved but not loaded
#include <ray/serializable.hpp>

struct report {
  template <typename Archive>
  void save(Archive& archive) const {
    archive(text);
  }
  std::string text;
};

constexpr void check() { ray::require_serializable<report>(); }
