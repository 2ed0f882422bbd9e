/// The readable name of a callable, for messages: of a function its own, of a class its type's.
#pragma once

#include <ray/detail/base/type_name.hpp>

#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>

namespace ray::detail {

/// The name of the function that begins at `address`, without parameters, from the symbol tables of
/// the program; empty when they do not have it. Reads a file: for messages only.
[[nodiscard]] std::string symbol_name(const void* address);

/// Where a member function begins; null for a virtual one (Itanium C++ ABI 2.3; on Arm the mark is
/// in the other word).
template <typename Member>
[[nodiscard]] const void* address_of_member(Member member) noexcept {
  std::array<std::uintptr_t, 2> words{};
  static_assert(sizeof(member) == sizeof(words));
  std::memcpy(words.data(), &member, sizeof(words));
#if defined(__aarch64__) || defined(__arm__)
  const bool is_virtual = (words[1] & 1) != 0;
#else
  const bool is_virtual = (words[0] & 1) != 0;
#endif
  return is_virtual ? nullptr : reinterpret_cast<const void*>(words[0]);
}

template <typename Function>
[[nodiscard]] std::string function_name(const Function& function) {
  std::string name;
  if constexpr (std::is_member_function_pointer_v<Function>) {
    if (const void* address = address_of_member(function)) name = symbol_name(address);
  } else if constexpr (std::is_pointer_v<Function>) {
    name = symbol_name(reinterpret_cast<const void*>(function));
  } else if constexpr (requires { function.function_name(); }) {
    return function.function_name();  // what is bound
  }
  return name.empty() ? type_name<Function>() : name;
}

}  // namespace ray::detail
