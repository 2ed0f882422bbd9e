// expect: ray: a view \(std::string_view, std::span, std::initializer_list\) cannot travel
#include <ray/serializable.hpp>

struct label {
  int id;
  std::string_view text;
};

constexpr void check() { ray::require_serializable<label>(); }
