/// What may travel between processes, and what stands in its way: the rules behind
/// `ray::serializable`, one `travel_rule` for each kind of type, looked at when compiling.
///
/// cereal's own traits say yes to pointers and to vectors of anything, so they are asked only about
/// classes, and every part of a standard type is looked at, all the way down.
#pragma once

#include <cereal/cereal.hpp>
#include <cereal/types/array.hpp>
#include <cereal/types/atomic.hpp>
#include <cereal/types/bitset.hpp>
#include <cereal/types/chrono.hpp>
#include <cereal/types/complex.hpp>
#include <cereal/types/deque.hpp>
#include <cereal/types/forward_list.hpp>
#include <cereal/types/list.hpp>
#include <cereal/types/map.hpp>
#include <cereal/types/memory.hpp>
#include <cereal/types/optional.hpp>
#include <cereal/types/queue.hpp>
#include <cereal/types/set.hpp>
#include <cereal/types/stack.hpp>
#include <cereal/types/string.hpp>
#include <cereal/types/tuple.hpp>
#include <cereal/types/unordered_map.hpp>
#include <cereal/types/unordered_set.hpp>
#include <cereal/types/utility.hpp>
#include <cereal/types/valarray.hpp>
#include <cereal/types/variant.hpp>
#include <cereal/types/vector.hpp>

#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <string_view>
#include <type_traits>

#include <ray/detail/base/aggregate.hpp>
#include <ray/detail/base/cereal_probe.hpp>

namespace ray {

/// Says of a trivially copyable class with constructors or private members that its bytes are its
/// value, so that it may travel: no pointers, no handles of this process.
///
///     template <> inline constexpr bool ray::is_trivially_serializable<money> = true;
///
/// The specialization stands where every use of the class with ray can see it.
template <typename T>
inline constexpr bool is_trivially_serializable = false;

}  // namespace ray

namespace ray::detail {

/// Why a type may not travel.
enum class obstacle : unsigned char {
  none,
  part,  // a part of it may not, and says why itself
  incomplete,
  no_object,  // void
  pointer,
  reference,
  function,
  view,
  function_wrapper,
  mutable_shared,
  weak,
  stream,
  constant,
  is_volatile,
  union_type,
  stateful_comparator,
  custom_deleter,
  pointer_to_array,
  no_constructor,
  half_serialized,
  ambiguous,
  closure,
  aggregate_member,
  aggregate_reference,
  aggregate_of_unknown,
  owning_aggregate,
  opaque_class,
  unknown_class,
};

template <typename... Part>
struct parts {};

template <typename T>
struct travel_rule;

template <typename T>
inline constexpr obstacle obstacle_of = travel_rule<T>::why;

template <typename T>
inline constexpr bool travels = obstacle_of<T> == obstacle::none;

/// Whether the bytes of a T are its value: saved and loaded as they are, arrays of them at once.
template <typename T>
inline constexpr bool bitwise = travel_rule<T>::bytes;

/// An aggregate that is saved member by member, as not every member is bitwise.
template <typename T>
inline constexpr bool memberwise = requires { requires travel_rule<T>::by_members; };

/// Whether a T can be made from what an archive holds, when there is no T yet to load into.
template <typename T>
inline constexpr bool can_be_made =
    std::is_default_constructible_v<T> ||
    ((bitwise<T> || has_load_and_construct<T>)&&std::is_move_constructible_v<T>);

namespace travel {

template <obstacle Why>
struct refused {
  static constexpr obstacle why = Why;
  static constexpr bool bytes = false;
  using made_of = parts<>;
};

/// The rule of a type that travels when its parts do.
template <typename... Part>
struct made_of_parts {
  static constexpr obstacle why = (travels<Part> && ...) ? obstacle::none : obstacle::part;
  static constexpr bool bytes = false;
  using made_of = parts<Part...>;
};

/// The same, where parts are made while loading.
template <typename... Part>
struct container_of {
  static constexpr obstacle why = [] {
    if constexpr (!(travels<Part> && ...)) {
      return obstacle::part;
    } else {
      return (can_be_made<Part> && ...) ? obstacle::none : obstacle::no_constructor;
    }
  }();
  static constexpr bool bytes = false;
  using made_of = parts<Part...>;
};

struct plain_bytes {
  static constexpr obstacle why = obstacle::none;
  static constexpr bool bytes = true;
  using made_of = parts<>;
};

/// Only what a comparator or hash function with no state does is the same after the journey.
template <typename Container, typename... Function>
struct ordered_by : Container {
  static constexpr obstacle why =
      (std::is_empty_v<Function> && ...) ? Container::why : obstacle::stateful_comparator;
};

/// The bytes of an array of bitwise elements are its value.
template <typename Element>
struct array_of : made_of_parts<Element> {
  static constexpr bool bytes = bitwise<Element>;
};

template <typename T>
struct member_travels : std::bool_constant<travels<T>> {};

template <typename T>
struct member_is_bitwise : std::bool_constant<bitwise<T>> {};

/// The compiler spells a closure's type with this word; only an error message depends on it.
template <typename T>
consteval bool is_closure() {
  return std::string_view(__PRETTY_FUNCTION__).find("lambda") != std::string_view::npos;
}

template <typename T>
consteval obstacle class_with_functions() {
  if (count_savers<T> > 1 || count_loaders<T> > 1) return obstacle::ambiguous;
  if (count_savers<T> == 0) return obstacle::half_serialized;
  if (has_load_and_construct<T>) return obstacle::none;
  if (count_loaders<T> == 0) return obstacle::half_serialized;
  return std::is_default_constructible_v<T> ? obstacle::none : obstacle::no_constructor;
}

template <typename T>
consteval obstacle aggregate_of_members() {
  if constexpr (!no_hidden_references<T>) {
    return obstacle::aggregate_reference;
  } else if constexpr (every_member<T, member_is_bitwise>()) {
    return obstacle::none;
  } else if constexpr (aggregate::element_count<T> == 0) {
    return obstacle::aggregate_of_unknown;
  } else if constexpr (!every_member<T, member_travels>()) {
    return obstacle::aggregate_member;
  } else {
    return member_count<T> == 0 ? obstacle::aggregate_of_unknown : obstacle::none;
  }
}

template <typename T>
consteval obstacle class_obstacle() {
  if constexpr (is_trivially_serializable<T>) {
    static_assert(std::is_trivially_copyable_v<T>,
                  "ray: is_trivially_serializable is true for a type that is not trivially "
                  "copyable, whose bytes are not its value; give it a serialize function instead");
    return obstacle::none;
  } else if constexpr (count_savers<T> + count_loaders<T> != 0 || has_load_and_construct<T>) {
    return class_with_functions<T>();
  } else if constexpr (std::is_union_v<T>) {
    return obstacle::union_type;
  } else if constexpr (!std::is_trivially_copyable_v<T>) {
    return std::is_aggregate_v<T> ? obstacle::owning_aggregate
           : is_closure<T>()      ? obstacle::closure
                                  : obstacle::unknown_class;
  } else if constexpr (std::is_empty_v<T>) {
    return obstacle::none;
  } else if constexpr (std::is_aggregate_v<T>) {
    return aggregate_of_members<T>();
  } else {
    return is_closure<T>() ? obstacle::closure : obstacle::opaque_class;
  }
}

template <typename T>
consteval bool class_is_bitwise() {
  if constexpr (is_trivially_serializable<T>) {
    return true;
  } else if constexpr (class_obstacle<T>() != obstacle::none ||
                       count_savers<T> + count_loaders<T> != 0) {
    return false;
  } else {
    return std::is_empty_v<T> || every_member<T, member_is_bitwise>();
  }
}

template <typename T>
struct class_rule {
  static constexpr obstacle why = class_obstacle<T>();
  static constexpr bool bytes = class_is_bitwise<T>();
  static constexpr bool by_members =
      why == obstacle::none && !bytes && count_savers<T> + count_loaders<T> == 0;
  using made_of = parts<>;
};

template <typename T>
consteval auto rule_of() {
  if constexpr (std::is_void_v<T>) {
    return refused<obstacle::no_object>{};
  } else if constexpr (std::is_reference_v<T>) {
    return refused<obstacle::reference>{};
  } else if constexpr (std::is_function_v<T>) {
    return refused<obstacle::function>{};
  } else if constexpr (std::is_const_v<T>) {
    return refused<obstacle::constant>{};
  } else if constexpr (std::is_volatile_v<T>) {
    return refused<obstacle::is_volatile>{};
  } else if constexpr (std::is_pointer_v<T>) {
    constexpr bool to_function = std::is_function_v<std::remove_pointer_t<T>>;
    return refused < to_function ? obstacle::function : obstacle::pointer > {};
  } else if constexpr (std::is_member_pointer_v<T> || std::is_null_pointer_v<T>) {
    return refused<obstacle::pointer>{};
  } else if constexpr (std::is_bounded_array_v<T>) {
    return array_of<std::remove_extent_t<T>>{};
  } else if constexpr (!requires { sizeof(T); }) {
    return refused<obstacle::incomplete>{};
  } else if constexpr (std::is_class_v<T> || std::is_union_v<T>) {
    return class_rule<T>{};
  } else {
    return plain_bytes{};  // arithmetic types and enumerations
  }
}

}  // namespace travel

template <typename T>
struct travel_rule : decltype(travel::rule_of<T>()) {};

// The standard types, each made of its parts.

template <typename Char, typename Traits, typename Allocator>
struct travel_rule<std::basic_string<Char, Traits, Allocator>> : travel::container_of<Char> {};
template <typename T, typename Allocator>
struct travel_rule<std::vector<T, Allocator>> : travel::container_of<T> {};
template <typename T, typename Allocator>
struct travel_rule<std::deque<T, Allocator>> : travel::container_of<T> {};
template <typename T, typename Allocator>
struct travel_rule<std::list<T, Allocator>> : travel::container_of<T> {};
template <typename T, typename Allocator>
struct travel_rule<std::forward_list<T, Allocator>> : travel::container_of<T> {};
template <typename T>
struct travel_rule<std::valarray<T>> : travel::container_of<T> {};
template <typename T, std::size_t Size>
struct travel_rule<std::array<T, Size>> : travel::array_of<T> {};
template <std::size_t Size>
struct travel_rule<std::bitset<Size>> : travel::plain_bytes {};

template <typename Key, typename Less, typename Allocator>
struct travel_rule<std::set<Key, Less, Allocator>>
    : travel::ordered_by<travel::container_of<Key>, Less> {};
template <typename Key, typename Less, typename Allocator>
struct travel_rule<std::multiset<Key, Less, Allocator>>
    : travel::ordered_by<travel::container_of<Key>, Less> {};
template <typename Key, typename T, typename Less, typename Allocator>
struct travel_rule<std::map<Key, T, Less, Allocator>>
    : travel::ordered_by<travel::container_of<Key, T>, Less> {};
template <typename Key, typename T, typename Less, typename Allocator>
struct travel_rule<std::multimap<Key, T, Less, Allocator>>
    : travel::ordered_by<travel::container_of<Key, T>, Less> {};
template <typename Key, typename Hash, typename Equal, typename Allocator>
struct travel_rule<std::unordered_set<Key, Hash, Equal, Allocator>>
    : travel::ordered_by<travel::container_of<Key>, Hash, Equal> {};
template <typename Key, typename Hash, typename Equal, typename Allocator>
struct travel_rule<std::unordered_multiset<Key, Hash, Equal, Allocator>>
    : travel::ordered_by<travel::container_of<Key>, Hash, Equal> {};
template <typename Key, typename T, typename Hash, typename Equal, typename Allocator>
struct travel_rule<std::unordered_map<Key, T, Hash, Equal, Allocator>>
    : travel::ordered_by<travel::container_of<Key, T>, Hash, Equal> {};
template <typename Key, typename T, typename Hash, typename Equal, typename Allocator>
struct travel_rule<std::unordered_multimap<Key, T, Hash, Equal, Allocator>>
    : travel::ordered_by<travel::container_of<Key, T>, Hash, Equal> {};

template <typename T, typename Container>
struct travel_rule<std::stack<T, Container>> : travel::container_of<Container> {};
template <typename T, typename Container>
struct travel_rule<std::queue<T, Container>> : travel::container_of<Container> {};
template <typename T, typename Container, typename Less>
struct travel_rule<std::priority_queue<T, Container, Less>>
    : travel::ordered_by<travel::container_of<Container>, Less> {};

template <typename First, typename Second>
struct travel_rule<std::pair<First, Second>> : travel::container_of<First, Second> {};
template <typename... T>
struct travel_rule<std::tuple<T...>> : travel::container_of<T...> {};
template <typename T>
struct travel_rule<std::optional<T>> : travel::container_of<T> {};
template <typename... T>
struct travel_rule<std::variant<T...>> : travel::container_of<T...> {};
template <>
struct travel_rule<std::monostate> : travel::plain_bytes {};
template <typename T>
struct travel_rule<std::atomic<T>> : travel::container_of<T> {};
template <typename T>
struct travel_rule<std::complex<T>> : travel::array_of<T> {};
template <typename Count, typename Period>
struct travel_rule<std::chrono::duration<Count, Period>> : travel::array_of<Count> {};
template <typename Clock, typename Duration>
struct travel_rule<std::chrono::time_point<Clock, Duration>> : travel::array_of<Duration> {};

namespace travel {

/// What a pointer owns. Of a polymorphic class only the base can be seen here; what it really is
/// must be registered with cereal, which throws when it is not.
template <typename T>
struct owned : made_of_parts<T> {};
template <typename T>
  requires(std::is_polymorphic_v<T>)
struct owned<T> {
  static constexpr obstacle why = obstacle::none;
  static constexpr bool bytes = false;
  using made_of = parts<>;
};
template <typename T>
struct owned<T[]> : refused<obstacle::pointer_to_array> {};
template <typename T, std::size_t Size>
struct owned<T[Size]> : refused<obstacle::pointer_to_array> {};

}  // namespace travel

template <typename T>
struct travel_rule<std::unique_ptr<T>> : travel::owned<std::remove_const_t<T>> {};
template <typename T, typename Deleter>
struct travel_rule<std::unique_ptr<T, Deleter>> : travel::refused<obstacle::custom_deleter> {};
template <typename T>
struct travel_rule<std::shared_ptr<const T>> : travel::owned<T> {};
template <typename T>
struct travel_rule<std::shared_ptr<T>> : travel::refused<obstacle::mutable_shared> {};
template <typename T>
struct travel_rule<std::weak_ptr<T>> : travel::refused<obstacle::weak> {};

template <typename Char, typename Traits>
struct travel_rule<std::basic_string_view<Char, Traits>> : travel::refused<obstacle::view> {};
template <typename T, std::size_t Extent>
struct travel_rule<std::span<T, Extent>> : travel::refused<obstacle::view> {};
template <typename T>
struct travel_rule<std::initializer_list<T>> : travel::refused<obstacle::view> {};
template <typename T>
struct travel_rule<std::reference_wrapper<T>> : travel::refused<obstacle::reference> {};
template <typename Signature>
struct travel_rule<std::function<Signature>> : travel::refused<obstacle::function_wrapper> {};

}  // namespace ray::detail
