/// How arguments become parameters: each is kept in a slot of the task's block, as a value of the
/// parameter's type, or as a future whose value the parameter is made from when the task begins.
#pragma once

#include <ray/detail/base/function_name.hpp>
#include <ray/detail/runtime/callable.hpp>
#include <ray/detail/runtime/task.hpp>
#include <ray/detail/runtime/value_access.hpp>
#include <ray/fwd.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

namespace ray::detail {

/// Stands for a parameter that cannot be seen.
struct unseen;

/// An argument kept by value.
template <typename Value, typename Parameter>
class value_slot {
 public:
  static constexpr std::size_t dependencies = 0;
  // A parameter by reference to const sees the kept value; all else is given it to move from.
  using passed = std::conditional_t<std::is_lvalue_reference_v<Parameter>, const Value&, Value&&>;

  template <typename Argument>
    requires(!std::same_as<std::remove_cvref_t<Argument>, value_slot>)
  explicit value_slot(Argument&& argument) : value_(convert(std::forward<Argument>(argument))) {}
  value_slot(value_slot&&) = default;

  [[nodiscard]] passed pass() noexcept { return static_cast<passed>(value_); }
  [[nodiscard]] object* future_object() const noexcept { return nullptr; }
  [[nodiscard]] value_slot copy() const { return value_slot(copy_of(value_)); }

 private:
  template <typename Argument>
  static Value convert(Argument&& argument) {
    if constexpr (std::is_constructible_v<Value, Argument>) {
      return static_cast<Value>(std::forward<Argument>(argument));
    } else {
      return Value(std::forward<Argument>(argument));
    }
  }

  Value value_;
};

/// An argument that is a future, where the parameter is made from its value.
template <typename Value, typename Parameter>
class future_slot {
 public:
  static constexpr std::size_t dependencies = 1;
  static constexpr bool by_reference =
      std::is_same_v<Parameter, unseen> ||
      (std::is_lvalue_reference_v<Parameter> && std::is_convertible_v<const Value&, Parameter> &&
       std::is_same_v<std::remove_cvref_t<Parameter>, Value>);
  // A reference to something made of the value: it lives here, for a coroutine may keep it.
  static constexpr bool converts = !by_reference && std::is_reference_v<Parameter>;
  using passed = std::conditional_t<by_reference, const Value&,
                                    std::conditional_t<converts, Parameter, Value>>;

  explicit future_slot(future<Value> argument) : handle_(future_access::take(std::move(argument))) {
    if (!handle_) throw_empty_future("as an argument of a task");
  }
  future_slot(future_slot&& other) noexcept : handle_(std::move(other.handle_)) {}

  [[nodiscard]] passed pass() {
    if constexpr (by_reference) {
      // Pinned for as long as the arguments live: a coroutine may keep the reference.
      pin_.emplace(handle_.get());
      return **pin_;
    } else if constexpr (converts) {
      made_.emplace(take_value<Value>(std::move(handle_)));
      return static_cast<Parameter>(*made_);
    } else {
      return take_value<Value>(std::move(handle_));
    }
  }
  [[nodiscard]] object* future_object() const noexcept { return handle_.get(); }
  [[nodiscard]] future_slot copy() const {
    return future_slot(future_access::make<Value>(handle_));
  }

 private:
  object_handle handle_;
  std::optional<pinned_value<Value>> pin_;
  [[no_unique_address]] std::conditional_t<converts, std::optional<std::decay_t<Parameter>>,
                                           std::monostate>
      made_;
};

/// The slot for an argument that meets a parameter that can be seen.
template <typename Argument, typename Parameter>
struct slot_for_parameter {
  using kept = std::decay_t<Parameter>;
  static_assert(!std::is_lvalue_reference_v<Parameter> ||
                    std::is_const_v<std::remove_reference_t<Parameter>>,
                "ray: a parameter that is a reference to non-const cannot be used by a task: the "
                "task works on its own copy, and nobody would see the change; take it by value or "
                "by const reference and return the result");
  static_assert(std::is_convertible_v<Argument, kept> || std::is_constructible_v<kept, Argument>,
                "ray: an argument cannot be converted to the type of its parameter");
  static constexpr void check() { require_serializable<kept>(); }
  using type = value_slot<kept, Parameter>;
};
template <typename Argument, typename Parameter>
  requires(is_future<std::decay_t<Argument>> && !is_future<std::decay_t<Parameter>>)
struct slot_for_parameter<Argument, Parameter> {
  using value = typename std::decay_t<Argument>::value_type;
  static_assert(!std::is_void_v<value>,
                "ray: a future<void> has no value to pass: take a parameter of type "
                "ray::future<void>, or wait for it with then or when_all");
  static_assert(!std::is_lvalue_reference_v<Parameter> ||
                    std::is_const_v<std::remove_reference_t<Parameter>>,
                "ray: a parameter that is a reference to non-const cannot be used by a task: the "
                "value of a future is immutable; take it by value or by const reference");
  static_assert(std::is_convertible_v<const value&, Parameter> ||
                    std::is_convertible_v<value, Parameter>,
                "ray: the value of a future cannot be converted to the type of the parameter that "
                "it is passed to");
  static constexpr void check() {}
  using type = future_slot<value, Parameter>;
};

/// The slot for an argument whose parameter cannot be seen; `AsValue` tells futures apart.
template <typename Argument, bool AsValue>
struct slot_for_unseen {
  using kept = kept_argument<Argument>;
  static constexpr void check() { require_serializable<kept>(); }
  using type = value_slot<kept, unseen>;
};
template <typename Argument>
  requires is_future<std::decay_t<Argument>>
struct slot_for_unseen<Argument, true> {
  static constexpr void check() {}
  using type = future_slot<typename std::decay_t<Argument>::value_type, unseen>;
};

template <typename Argument>
struct value_seen {
  using type = kept_argument<Argument>&&;
};
template <typename Argument>
  requires(is_future<std::decay_t<Argument>> &&
           !std::is_void_v<typename std::decay_t<Argument>::value_type>)
struct value_seen<Argument> {
  using type = const typename std::decay_t<Argument>::value_type&;
};

/// Whether `Function` can be called with the futures' values in place of the futures.
template <typename Function, typename Leading, typename... Arguments>
inline constexpr bool takes_values = false;
template <typename Function, typename... Leading, typename... Arguments>
inline constexpr bool takes_values<Function, std::tuple<Leading...>, Arguments...> =
    std::is_invocable_v<Function, Leading..., typename value_seen<Arguments>::type...>;

/// Whether a function can be called with what its slots pass.
template <typename Function, typename Leading, typename Slots>
inline constexpr bool callable_with = false;
template <typename Function, typename... Leading, typename... Slots>
inline constexpr bool callable_with<Function, std::tuple<Leading...>, std::tuple<Slots...>> =
    std::is_invocable_v<Function&, Leading..., typename Slots::passed...>;

/// Finds the slots of a call: `Parameters` is what can be seen, `Leading` what the runtime passes
/// in front (an actor's state).
template <typename Function, typename Leading, typename Parameters, typename... Arguments>
struct plan_slots {
  static_assert(sizeof...(Arguments) <= std::tuple_size_v<Parameters>,
                "ray: more arguments than the function has parameters");
  template <typename Indexes>
  struct by_index;
  template <std::size_t... Indexes>
  struct by_index<std::index_sequence<Indexes...>> {
    using type = std::tuple<
        typename slot_for_parameter<Arguments, std::tuple_element_t<Indexes, Parameters>>::type...>;
    static_assert(
        callable_with<Function, Leading, type>,
        "ray: the function cannot be called with these arguments: one is missing (a pointer to a "
        "function has no default arguments), or has the wrong type");
    static constexpr void check() {
      (slot_for_parameter<Arguments, std::tuple_element_t<Indexes, Parameters>>::check(), ...);
    }
  };
  using plan = by_index<std::index_sequence_for<Arguments...>>;
};
template <typename Function, typename Leading, typename... Arguments>
struct plan_slots<Function, Leading, void, Arguments...> {
  static constexpr bool as_values = takes_values<Function&, Leading, Arguments...>;
  struct plan {
    using type = std::tuple<typename slot_for_unseen<Arguments, as_values>::type...>;
    static_assert(
        callable_with<Function, Leading, type>,
        "ray: the function cannot be called with these arguments: one is missing (a pointer to a "
        "function has no default arguments), or has the wrong type");
    static constexpr void check() { (slot_for_unseen<Arguments, as_values>::check(), ...); }
  };
};

/// A function and its arguments, ready to be called. `Leading` are references that the caller of
/// `call` supplies in front.
template <typename Function, typename Slots>
class bound_call;

template <typename Function, typename... Slots>
class bound_call<Function, std::tuple<Slots...>> {
 public:
  static constexpr std::size_t dependencies = (std::size_t{0} + ... + Slots::dependencies);

  template <typename Callable, typename... Arguments>
  explicit bound_call(std::in_place_t, Callable&& function, Arguments&&... arguments)
      : function_(std::forward<Callable>(function)),
        slots_(std::forward<Arguments>(arguments)...) {}
  bound_call(const bound_call&) = delete;
  bound_call& operator=(const bound_call&) = delete;

  template <typename... Leading>
  decltype(auto) call(Leading&&... leading) {
    return std::apply(
        [&](auto&... slots) -> decltype(auto) {
          return std::invoke(function_, std::forward<Leading>(leading)..., slots.pass()...);
        },
        slots_);
  }
  decltype(auto) operator()() { return call(); }
  [[nodiscard]] const Function& function() const noexcept { return function_; }

  [[nodiscard]] object* pending() const noexcept {
    object* found = nullptr;
    if constexpr (dependencies != 0) {
      const auto look = [&](const auto& slot) {
        object* one = slot.future_object();
        if (found == nullptr && one != nullptr && !one->is_ready()) found = one;
      };
      std::apply([&](const auto&... slots) { (look(slots), ...); }, slots_);
    }
    return found;
  }

  /// Has the task wait for the futures among the arguments.
  void await_arguments(task* owner) noexcept {
    if constexpr (dependencies != 0) {
      std::size_t next = 0;
      const auto link = [&](auto& slot) {
        if (object* one = slot.future_object()) add_dependency(owner, links_[next++], one);
      };
      std::apply([&](auto&... slots) { (link(slots), ...); }, slots_);
    }
  }

  /// Builds a copy of function and arguments, for another attempt of the task.
  void copy_into(void* memory) const {
    std::apply(
        [&](const auto&... slots) {
          new (memory) bound_call(copied(), copy_of(function_), slots.copy()...);
        },
        slots_);
  }

 private:
  struct copied {};
  explicit bound_call(copied, Function&& function, Slots&&... slots)
      : function_(std::move(function)), slots_(std::move(slots)...) {}

  [[no_unique_address]] Function function_;
  [[no_unique_address]] std::tuple<Slots...> slots_;
  [[no_unique_address]] std::array<waiter, dependencies> links_;
};

}  // namespace ray::detail
