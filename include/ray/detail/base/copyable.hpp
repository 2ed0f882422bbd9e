/// Whether a value can be copied, looked at through the standard containers: those say that they
/// can be copied whatever they hold, and fail only when they are.
#pragma once

#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

namespace ray::detail {

template <typename Type>
struct copyable_traits : std::is_copy_constructible<Type> {};

template <typename Type>
inline constexpr bool copyable = copyable_traits<Type>::value;

template <typename Type>
concept standard_container = requires {
  typename Type::allocator_type;
  typename Type::value_type;
};

template <standard_container Type>
  requires(!std::is_same_v<typename Type::value_type, Type>)
struct copyable_traits<Type> : std::bool_constant<std::is_copy_constructible_v<Type> &&
                                                  copyable<typename Type::value_type>> {};

template <typename... Types>
struct all_copyable : std::bool_constant<(copyable<std::remove_const_t<Types>> && ...)> {};

template <typename First, typename Second>
struct copyable_traits<std::pair<First, Second>> : all_copyable<First, Second> {};
template <typename... Types>
struct copyable_traits<std::tuple<Types...>> : all_copyable<Types...> {};
template <typename... Types>
struct copyable_traits<std::variant<Types...>> : all_copyable<Types...> {};
template <typename Type>
struct copyable_traits<std::optional<Type>> : all_copyable<Type> {};

}  // namespace ray::detail
