/// What can be seen of a callable: its parameter types, and whether it may travel.
#pragma once

#include <ray/serializable.hpp>

#include <cstddef>
#include <functional>
#include <string>
#include <tuple>
#include <type_traits>

namespace ray {

template <typename Function, typename... Values>
class bound_function;

namespace detail {

/// The parameters of a callable as a tuple type, when they can be seen; `void` when they cannot (a
/// template or overloaded call operator).
template <typename Function>
struct parameters_of;

template <typename Result, typename... Parameters>
struct visible_parameters {
  using type = std::tuple<Parameters...>;
};

template <typename Member>
struct member_parameters;

/// Stands for the object of a member function that wants an lvalue.
struct no_object;

// Every combination of qualifiers of a member function; the object comes first, by const reference
// where that will do.
#define RAY_DETAIL_MEMBER(qualifiers, self)                               \
  template <typename Result, typename Class, typename... Parameters>      \
  struct member_parameters<Result (Class::*)(Parameters...) qualifiers> { \
    using with_object = std::tuple<self, Parameters...>;                  \
    using type = std::tuple<Parameters...>;                               \
    static constexpr bool is_function = true;                             \
  };
RAY_DETAIL_MEMBER(, Class)
RAY_DETAIL_MEMBER(const, const Class&)
RAY_DETAIL_MEMBER(&, no_object)
RAY_DETAIL_MEMBER(const&, const Class&)
RAY_DETAIL_MEMBER(&&, Class)
RAY_DETAIL_MEMBER(noexcept, Class)
RAY_DETAIL_MEMBER(const noexcept, const Class&)
RAY_DETAIL_MEMBER(& noexcept, no_object)
RAY_DETAIL_MEMBER(const& noexcept, const Class&)
RAY_DETAIL_MEMBER(&& noexcept, Class)
#undef RAY_DETAIL_MEMBER

template <typename Function>
concept has_one_call_operator = requires { &Function::operator(); };

template <typename Function>
struct parameters_of {
  using type = void;
};
template <has_one_call_operator Function>
struct parameters_of<Function> : member_parameters<decltype(&Function::operator())> {};
template <typename Result, typename... Parameters>
struct parameters_of<Result (*)(Parameters...)> : visible_parameters<Result, Parameters...> {};
template <typename Result, typename... Parameters>
struct parameters_of<Result (*)(Parameters...) noexcept>
    : visible_parameters<Result, Parameters...> {};
template <typename Function>
  requires std::is_member_function_pointer_v<Function>
struct parameters_of<Function> {
  using type = typename member_parameters<Function>::with_object;
};
template <typename Value, typename Class>
  requires std::is_object_v<Value>
struct parameters_of<Value Class::*> {
  using type = std::tuple<const Class&>;
};

/// `Tuple` without its first `count` elements; empty or unseen stays so.
template <typename Tuple, std::size_t Count>
struct drop_parameters;
template <std::size_t Count>
struct drop_parameters<void, Count> {
  using type = void;
};
template <typename... Parameters>
struct drop_parameters<std::tuple<Parameters...>, 0> {
  using type = std::tuple<Parameters...>;
};
template <typename First, typename... Rest, std::size_t Count>
  requires(Count > 0)
struct drop_parameters<std::tuple<First, Rest...>, Count>
    : drop_parameters<std::tuple<Rest...>, Count - 1> {};
template <std::size_t Count>
  requires(Count > 0)
struct drop_parameters<std::tuple<>, Count> {
  using type = std::tuple<>;
};

template <typename Function, typename... Values>
struct parameters_of<bound_function<Function, Values...>>
    : drop_parameters<typename parameters_of<Function>::type, sizeof...(Values)> {};

template <typename Function>
using parameters = typename parameters_of<Function>::type;

template <typename Function>
inline constexpr bool is_bound_function = false;
template <typename Function, typename... Values>
inline constexpr bool is_bound_function<bound_function<Function, Values...>> = true;

/// What an argument is kept as when the parameter cannot be seen: decayed, literals as strings.
template <typename Argument>
using kept_argument = std::conditional_t<std::is_convertible_v<Argument, const char*>, std::string,
                                         std::decay_t<Argument>>;

/// Whether a callable may become a task: what it carries can be seen and serialized.
template <typename Function>
inline constexpr bool callable_travels =
    (std::is_pointer_v<Function> && std::is_function_v<std::remove_pointer_t<Function>>) ||
    std::is_member_pointer_v<Function> || is_bound_function<Function> ||
    (std::is_class_v<Function> && (std::is_empty_v<Function> || serializable<Function>));

/// Whether it is a member function qualified with &.
template <typename Function>
inline constexpr bool wants_lvalue = false;
template <typename Function>
  requires std::is_member_function_pointer_v<Function>
inline constexpr bool wants_lvalue<Function> =
    std::is_same_v<std::tuple_element_t<0, parameters<Function>>, no_object>;

template <typename Function>
consteval void require_callable_travels() {
  static_assert(
      callable_travels<Function>,
      "ray: this callable cannot travel to another process: it carries state that cannot be "
      "serialized (a lambda that captures, std::function, std::bind, a pointer to an object). Pass "
      "what it needs as arguments, or bind values in front with ray::bind(f, values...); a "
      "function "
      "object needs a cereal serialize function");
}

/// The same for what becomes a task or is bound, which has no object but its own copy.
template <typename Function>
consteval void require_task_function() {
  require_callable_travels<Function>();
  static_assert(!wants_lvalue<Function>,
                "ray: a member function that is qualified with & cannot be a task: it is meant for "
                "an object that others see, and a task works on a copy; use an actor, or drop the "
                "&");
}

}  // namespace detail
}  // namespace ray
