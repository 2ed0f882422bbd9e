/// The first member of all options, which keeps `{1, 2}` from being taken for options.
#pragma once

#include <concepts>
#include <type_traits>

namespace ray::detail {

/// Takes its default only. Whoever gives options by position gives this a value, and gets a message
/// in place of options that mean something else.
class by_name {
 public:
  explicit constexpr by_name() noexcept = default;  // explicit: not even from {}
  template <typename Value>
    requires(!std::same_as<std::remove_cvref_t<Value>, by_name>)
  constexpr by_name(Value&&) noexcept {  // NOLINT: for what would be converted
    static_assert(std::is_void_v<Value>,
                  "ray: options are given by name, as in {.num_cpus = 2, .name = \"x\"}; values in "
                  "braces without names are no options");
  }
};

}  // namespace ray::detail
