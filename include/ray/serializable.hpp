/// `ray::serializable<T>`: whether a value of type T may travel to another process, or to disk.
///
/// It may when it is made of arithmetic types, enumerations, the standard types that cereal knows,
/// handles of ray, classes with cereal functions, and trivially copyable aggregates of those, all
/// the way down; not when a pointer, a reference, a view or something shared and mutable is in it.
#pragma once

#include <type_traits>

#include <ray/detail/base/travel_rules.hpp>

namespace ray {

template <typename T>
concept serializable = detail::travels<std::remove_const_t<T>>;

// The vocabulary of ray's own: a number each.
class amount;
template <>
inline constexpr bool is_trivially_serializable<amount> = true;
namespace detail {
template <typename Tag>
struct basic_id;
}
template <typename Tag>
inline constexpr bool is_trivially_serializable<detail::basic_id<Tag>> = true;

/// Does not compile when T is not serializable, and says why and what to do instead.
template <typename T>
consteval void require_serializable();

namespace detail {

template <typename... Part>
consteval void require_parts(parts<Part...>) {
  (require_serializable<Part>(), ...);
}

template <typename T>
consteval bool explained() {
  require_serializable<T>();
  return true;
}

/// Stands for each member of an aggregate; asking whether the conversion throws compiles the
/// messages about the member's type.
template <typename Owner>
struct require_member {
  template <typename Member>
    requires(!std::same_as<Member, Owner>)
  operator Member() const noexcept(explained<Member>());
};

}  // namespace detail

template <typename T>
consteval void require_serializable() {
  using detail::obstacle;
  constexpr obstacle why = detail::obstacle_of<std::remove_const_t<T>>;

  // The innermost reason first. A constant, because g++ compiles what only calls need too late.
  if constexpr (why == obstacle::part) {
    detail::require_parts(typename detail::travel_rule<std::remove_const_t<T>>::made_of{});
  } else if constexpr (why == obstacle::aggregate_member) {
    [[maybe_unused]] constexpr bool asked =
        detail::aggregate::initializable_without_throwing<T, detail::require_member<T>>(
            std::make_index_sequence<detail::aggregate::element_count<T>>{});
  }

  static_assert(why != obstacle::incomplete,
                "ray: this type is only declared here, so it cannot be seen whether it may travel; "
                "include its definition first");
  static_assert(why != obstacle::no_object,
                "ray: void is no value and cannot travel; return or pass a value, or use a "
                "future<void>");
  static_assert(why != obstacle::pointer,
                "ray: a pointer cannot travel, its address means nothing in another process; pass "
                "the value, a std::unique_ptr that owns it, or a ray::future of it");
  static_assert(why != obstacle::reference,
                "ray: a reference (std::reference_wrapper too) cannot travel, what it refers to "
                "stays here; pass the value or a ray::future of it");
  static_assert(why != obstacle::function,
                "ray: a pointer to a function cannot travel as a value, functions lie elsewhere in "
                "another process; pass it to ray::remote, or pass a captureless lambda");
  static_assert(why != obstacle::view,
                "ray: a view (std::string_view, std::span, std::initializer_list) cannot travel, "
                "what it looks at stays here; pass a std::string or a std::vector");
  static_assert(why != obstacle::function_wrapper,
                "ray: a std::function cannot travel, nobody knows what it holds; pass a "
                "captureless lambda or ray::bind(function, values...)");
  static_assert(
      why != obstacle::mutable_shared,
      "ray: a std::shared_ptr to what can change cannot travel, it would be shared in one "
      "process and copied in a cluster; use std::shared_ptr<const T>, std::unique_ptr<T>, "
      "the value, or an actor for what is shared");
  static_assert(why != obstacle::weak,
                "ray: a std::weak_ptr cannot travel, nothing would keep what it points to alive; "
                "pass a std::shared_ptr<const T> or a ray::future");
  static_assert(why != obstacle::stream,
                "ray: a stream cannot travel, its one reader is here; pass a ray::queue, or have "
                "the other task call the generator");
  static_assert(
      why != obstacle::constant,
      "ray: a part of a standard type that is const cannot be loaded; leave out the const");
  static_assert(why != obstacle::is_volatile,
                "ray: what is volatile cannot travel; pass a copy that is not");
  static_assert(why != obstacle::union_type,
                "ray: a union cannot travel, which member is alive is unknown; use a std::variant, "
                "give it a serialize function, or specialize ray::is_trivially_serializable");
  static_assert(why != obstacle::stateful_comparator,
                "ray: a container whose comparator or hash function has state cannot travel, the "
                "state would be lost; use a function object without members");
  static_assert(why != obstacle::custom_deleter,
                "ray: a std::unique_ptr with a deleter of its own cannot travel; use the default "
                "deleter, or a class with cereal save and load functions");
  static_assert(why != obstacle::pointer_to_array,
                "ray: a smart pointer to an array cannot travel, its length is unknown; use a "
                "std::vector or a std::array");
  static_assert(
      why != obstacle::no_constructor,
      "ray: a value of this type (or of an element of this container) cannot be made when "
      "it is loaded; give it a default constructor, or a load_and_construct function and "
      "a move constructor");
  static_assert(
      why != obstacle::half_serialized,
      "ray: this class can be saved but not loaded, or loaded but not saved; give it both "
      "save (const) and load, or serialize, as templates over the archive");
  static_assert(why != obstacle::ambiguous,
                "ray: this class has more than one way to be saved or loaded (a base class's "
                "functions count); choose one with cereal::specialize");
  static_assert(why != obstacle::closure,
                "ray: a lambda with captures cannot travel, a captured reference or pointer cannot "
                "be told from a value; pass what it needs as arguments, or use ray::bind(f, "
                "values...)");
  static_assert(why != obstacle::aggregate_member,
                "ray: this aggregate has a member that cannot travel (another message says which "
                "type and why); change the member, or give the class a serialize function");
  static_assert(why != obstacle::aggregate_reference,
                "ray: this aggregate has a reference member (or a const one beside what cannot be "
                "looked into) and cannot travel; hold the value, or give it a serialize function");
  static_assert(why != obstacle::aggregate_of_unknown,
                "ray: the members of this aggregate cannot be looked at (a reference, more than 32 "
                "members or 1024 array elements, or a base class beside a member that brings its "
                "own functions); give it a serialize function, or specialize "
                "ray::is_trivially_serializable");
  static_assert(why != obstacle::owning_aggregate,
                "ray: this aggregate is not trivially copyable (a string or a container in it, for "
                "example), so its bytes are not its value; give it: template <class Archive> void "
                "serialize(Archive& archive) { archive(first_member, second_member); }");
  static_assert(
      why != obstacle::opaque_class,
      "ray: nobody can look into this class, it has constructors or private members; give "
      "it a serialize function, or, if its bytes are its value and hold no pointer, "
      "specialize ray::is_trivially_serializable for it");
  static_assert(why != obstacle::unknown_class,
                "ray: this class cannot be turned into bytes; give it a cereal serialize function, "
                "or save and load");
}

}  // namespace ray
