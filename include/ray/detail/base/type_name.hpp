/// The readable name of a type, for messages. Demangled by the C++ runtime, with the long spellings
/// of the standard strings shortened.
#pragma once

#include <string>
#include <typeinfo>

namespace ray::detail {

/// Never throws anything but `std::bad_alloc`; the mangled name when it cannot be demangled.
[[nodiscard]] std::string type_name(const std::type_info& type);

template <typename Type>
[[nodiscard]] std::string type_name() {
  return type_name(typeid(Type));
}

}  // namespace ray::detail
