/// `ray::bind(f, values...)`: a callable that carries values along and puts them in front of its
/// arguments. Unlike a lambda's captures, what it carries is seen, checked and serialized.
#pragma once

#include <ray/detail/base/function_name.hpp>
#include <ray/detail/runtime/callable.hpp>
#include <ray/detail/runtime/value_access.hpp>
#include <ray/fwd.hpp>

#include <functional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

namespace ray {

template <typename Function, typename... Values>
class bound_function {
 public:
  template <typename Callable, typename... Arguments>
  explicit bound_function(std::in_place_t, Callable&& function, Arguments&&... values)
      : function_(std::forward<Callable>(function)), values_(std::forward<Arguments>(values)...) {}
  bound_function(const bound_function& other)
      : function_(detail::copy_of(other.function_)),
        values_(std::apply(
            [](const auto&... values) { return std::tuple<Values...>(detail::copy_of(values)...); },
            other.values_)) {}
  bound_function(bound_function&&) noexcept = default;
  bound_function& operator=(const bound_function&) = delete;
  bound_function& operator=(bound_function&&) noexcept = default;

  /// Calls the function once: by-value parameters are moved out of the bound values.
  template <typename... Arguments>
    requires std::is_invocable_v<Function&, Values..., Arguments...>
  decltype(auto) operator()(Arguments&&... arguments) {
    return std::apply(
        [&](auto&... values) -> decltype(auto) {
          return std::invoke(function_, std::move(values)...,
                             std::forward<Arguments>(arguments)...);
        },
        values_);
  }

  /// What messages call it.
  [[nodiscard]] std::string function_name() const { return detail::function_name(function_); }

 private:
  Function function_;
  std::tuple<Values...> values_;
};

/// Binds values in front of the parameters of `f`, which must be able to travel; so must the
/// values. It knows no placeholders, and needs no session.
template <typename Function, typename... Values>
[[nodiscard]] auto bind(Function&& function, Values&&... values) {
  using kept = std::decay_t<Function>;
  detail::require_task_function<kept>();
  (require_serializable<detail::kept_argument<Values>>(), ...);
  return bound_function<kept, detail::kept_argument<Values>...>(
      std::in_place, std::forward<Function>(function), std::forward<Values>(values)...);
}

}  // namespace ray
