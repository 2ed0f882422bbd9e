/// Looks into aggregates when compiling: how many members, of which kinds, and each by reference.
///
/// An object that converts to anything can stand for each member of an aggregate in an initializer
/// list; the longest list that compiles tells how many there are. If the conversion promises not to
/// throw for types with some property only, then `noexcept` tells whether all members have it.
/// Braces left out by the language flatten arrays, so those are looked at element by element.
#pragma once

#include <concepts>
#include <cstddef>
#include <type_traits>
#include <utility>

namespace ray::detail {

namespace aggregate {

// The conversions are never called; they have bodies because compilers warn about functions that
// something uses, be it in a question only, and that nobody defines.

/// Converts to anything but the aggregate itself, which would be taken for a copy.
template <typename Owner>
struct anything {
  template <typename Member>
    requires(!std::same_as<Member, Owner>)
  operator Member() const noexcept {
    __builtin_unreachable();
  }
};

/// The same, promising not to throw where `Property` holds. Were there no conversion for the other
/// types, the language would leave out braces and initialize their first members instead.
template <typename Owner, template <typename> typename Property>
struct anything_with {
  template <typename Member>
    requires(!std::same_as<Member, Owner>)
  operator Member() const noexcept(Property<Member>::value) {
    __builtin_unreachable();
  }
};

template <typename Owner>
struct base_class_of {
  template <typename Base>
    requires(!std::same_as<Base, Owner> && std::is_base_of_v<Base, Owner>)
  operator Base() const noexcept {
    __builtin_unreachable();
  }
};

template <std::size_t Size>
struct bytes_of {
  unsigned char bytes[Size];
};

template <typename T, typename Stand_in, std::size_t... I>
consteval bool initializable(std::index_sequence<I...>) {
  return requires { T{(static_cast<void>(I), std::declval<Stand_in>())...}; };
}

template <typename T, typename Stand_in, std::size_t... I>
consteval bool initializable_without_throwing(std::index_sequence<I...>) {
  return requires {
    {
      T { (static_cast<void>(I), std::declval<Stand_in>())... }
    } noexcept;
  };
}

template <typename T, std::size_t Count>
inline constexpr bool takes = initializable<T, anything<T>>(std::make_index_sequence<Count>{});

/// More than this many scalars in C arrays are not looked at one by one.
inline constexpr std::size_t most_elements = 1024;

/// The largest `Count` in [Low, High) that T takes, given that it takes `Low` and not `High`.
template <typename T, std::size_t Low, std::size_t High>
consteval std::size_t search() {
  if constexpr (High - Low <= 1) {
    return Low;
  } else {
    constexpr std::size_t middle = Low + (High - Low) / 2;
    if constexpr (takes<T, middle>) {
      return search<T, middle, High>();
    } else {
      return search<T, Low, middle>();
    }
  }
}

/// Doubles the upper bound until it is one.
template <typename T, std::size_t Low, std::size_t High>
consteval std::size_t grow() {
  if constexpr (High > most_elements || !takes<T, High>) {
    return search<T, Low, High>();
  } else {
    return grow<T, High, 2 * High>();
  }
}

/// How many initializers T takes with arrays flattened: 0 when it cannot be told, as for a first
/// member that is a reference to what can change, and for more than `most_elements`.
template <typename T>
consteval std::size_t count_elements() {
  if constexpr (!takes<T, 1>) {
    return 0;
  } else {
    constexpr std::size_t count = grow<T, 1, 2>();
    return count > most_elements ? 0 : count;
  }
}

template <typename T>
inline constexpr std::size_t element_count = count_elements<T>();

// Whether T takes `Before` elements, one empty pair of braces and `After` more.
template <typename T, std::size_t... Before, std::size_t... After>
consteval bool takes_braces(std::index_sequence<Before...>, std::index_sequence<After...>) {
  return requires {
    T{(static_cast<void>(Before), std::declval<anything<T>>())...,
      {},
      (static_cast<void>(After), std::declval<anything<T>>())...};
  };
}

/// How many of the flattened elements belong to the member that begins at element `Index`.
template <typename T, std::size_t Index, std::size_t Width = 1>
consteval std::size_t member_width() {
  if constexpr (Index + Width > element_count<T>) {
    return 1;  // a member without a default constructor: no array of such is looked into
  } else if constexpr (takes_braces<T>(
                           std::make_index_sequence<Index>{},
                           std::make_index_sequence<element_count<T> - Index - Width>{})) {
    return Width;
  } else {
    return member_width<T, Index, Width + 1>();
  }
}

template <typename T, std::size_t Index = 0>
consteval std::size_t count_members() {
  if constexpr (Index >= element_count<T>) {
    return 0;
  } else {
    return 1 + count_members<T, Index + member_width<T, Index>()>();
  }
}

}  // namespace aggregate

/// Whether every member, base and array element of the aggregate T is of a type for which
/// `Property<Type>::value` is true.
///
/// A member of type `const U&` is taken for a U; see `no_hidden_references`.
template <typename T, template <typename> typename Property>
consteval bool every_member() {
  constexpr std::size_t count = aggregate::element_count<T>;
  if constexpr (count == 0) {
    return std::is_empty_v<T>;
  } else {
    return aggregate::initializable_without_throwing<T, aggregate::anything_with<T, Property>>(
        std::make_index_sequence<count>{});
  }
}

/// Whether T surely has no member of reference type. A type that can be assigned has none; for the
/// others, which have references or `const` members, the language itself can tell: `bit_cast` is
/// no constant expression where there are references (or pointers, or unions) however deep.
template <typename T>
inline constexpr bool no_hidden_references =
    std::is_copy_assignable_v<T> || std::is_move_assignable_v<T> || requires {
      typename std::integral_constant<
          int, (static_cast<void>(__builtin_bit_cast(T, aggregate::bytes_of<sizeof(T)>{})), 0)>;
    };

/// The most members that `with_members` can name.
inline constexpr std::size_t most_members = 32;

/// How many members T has, each array one; 0 when `with_members` cannot take T apart.
template <typename T>
inline constexpr std::size_t member_count = [] {
  constexpr std::size_t elements = aggregate::element_count<T>;
  if constexpr (elements == 0 || elements > 4 * most_members) {
    return std::size_t{0};
  } else if constexpr (aggregate::initializable<T, aggregate::base_class_of<T>>(
                           std::make_index_sequence<1>{})) {
    return std::size_t{0};  // a structured binding cannot name members of two classes
  } else {
    constexpr std::size_t members = aggregate::count_members<T>();
    return members > most_members ? std::size_t{0} : members;
  }
}();

/// Calls `function(first, second, ...)` with a reference to each member of `value`, an aggregate
/// without base classes and unions whose `member_count` is not 0.
template <typename T, typename Function>
constexpr decltype(auto) with_members(T& value, Function&& function) {
  constexpr std::size_t count = member_count<std::remove_const_t<T>>;
  static_assert(count != 0);
// One line for each number of members: the language has no structured binding of a pack.
#define RAY_DETAIL_MEMBERS(number, ...)                   \
  if constexpr (count == number) {                        \
    auto& [__VA_ARGS__] = value;                          \
    return std::forward<Function>(function)(__VA_ARGS__); \
  } else
  // clang-format off
  RAY_DETAIL_MEMBERS(1, a)
  RAY_DETAIL_MEMBERS(2, a, b)
  RAY_DETAIL_MEMBERS(3, a, b, c)
  RAY_DETAIL_MEMBERS(4, a, b, c, d)
  RAY_DETAIL_MEMBERS(5, a, b, c, d, e)
  RAY_DETAIL_MEMBERS(6, a, b, c, d, e, f)
  RAY_DETAIL_MEMBERS(7, a, b, c, d, e, f, g)
  RAY_DETAIL_MEMBERS(8, a, b, c, d, e, f, g, h)
  RAY_DETAIL_MEMBERS(9, a, b, c, d, e, f, g, h, i)
  RAY_DETAIL_MEMBERS(10, a, b, c, d, e, f, g, h, i, j)
  RAY_DETAIL_MEMBERS(11, a, b, c, d, e, f, g, h, i, j, k)
  RAY_DETAIL_MEMBERS(12, a, b, c, d, e, f, g, h, i, j, k, l)
  RAY_DETAIL_MEMBERS(13, a, b, c, d, e, f, g, h, i, j, k, l, m)
  RAY_DETAIL_MEMBERS(14, a, b, c, d, e, f, g, h, i, j, k, l, m, n)
  RAY_DETAIL_MEMBERS(15, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o)
  RAY_DETAIL_MEMBERS(16, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p)
  RAY_DETAIL_MEMBERS(17, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q)
  RAY_DETAIL_MEMBERS(18, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r)
  RAY_DETAIL_MEMBERS(19, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s)
  RAY_DETAIL_MEMBERS(20, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t)
  RAY_DETAIL_MEMBERS(21, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u)
  RAY_DETAIL_MEMBERS(22, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v)
  RAY_DETAIL_MEMBERS(23, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w)
  RAY_DETAIL_MEMBERS(24, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x)
  RAY_DETAIL_MEMBERS(25, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y)
  RAY_DETAIL_MEMBERS(26, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z)
  RAY_DETAIL_MEMBERS(27, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, A)
  RAY_DETAIL_MEMBERS(28, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, A, B)
  RAY_DETAIL_MEMBERS(29, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, A, B, C)
  RAY_DETAIL_MEMBERS(30, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, A, B, C, D)
  RAY_DETAIL_MEMBERS(31, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, A, B, C, D, E)
  RAY_DETAIL_MEMBERS(32, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, A, B, C, D, E, F)
  { static_assert(count <= most_members); }
  // clang-format on
#undef RAY_DETAIL_MEMBERS
}

}  // namespace ray::detail
