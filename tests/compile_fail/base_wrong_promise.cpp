// expect: ray: is_trivially_serializable is true for a type that is not trivially copyable
#include <ray/serializable.hpp>

class name {
 public:
  std::string text;
};
template <>
inline constexpr bool ray::is_trivially_serializable<name> = true;

constexpr void check() { ray::require_serializable<name>(); }
