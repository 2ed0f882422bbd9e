/// `ray::remote(f)`: any function, called as a task that returns a future.
#pragma once

#include <ray/bind.hpp>
#include <ray/detail/api/submission.hpp>
#include <ray/detail/runtime/arguments.hpp>
#include <ray/detail/runtime/settings.hpp>
#include <ray/future.hpp>
#include <ray/options.hpp>

#include <memory>
#include <type_traits>
#include <utility>

namespace ray {

namespace detail {

/// A function of no class with one name for messages: what a plain call's body is.
template <typename Function, typename Slots>
class task_body : public bound_call<Function, Slots> {
 public:
  using bound_call<Function, Slots>::bound_call;
  [[nodiscard]] std::string name() const { return function_name(this->function()); }
};

}  // namespace detail

/// A function that runs as a task when it is called; made by `remote`. Copyable, needs no session.
template <typename Function>
class remote_function {
 public:
  explicit remote_function(Function function,
                           std::shared_ptr<const detail::call_settings> settings = nullptr)
      : function_(std::move(function)), settings_(std::move(settings)) {}

  /// Submits the call and returns the future of its result; never blocks on the arguments, which
  /// are converted to the parameters' types now. An argument that is a future becomes its value
  /// when the task begins, unless the parameter is a future. Throws usage_error without a session
  /// or for absurd options, and what converting or copying the arguments throws.
  template <typename... Arguments>
  auto operator()(Arguments&&... arguments) const {
    using slots = typename detail::plan_slots<Function, std::tuple<>, detail::parameters<Function>,
                                              Arguments...>::plan;
    slots::check();
    using body = detail::task_body<Function, typename slots::type>;
    if (settings_ == nullptr) {
      return detail::submit_body<body>(detail::nothing_to_prepare(), std::in_place,
                                       detail::copy_of(function_),
                                       std::forward<Arguments>(arguments)...);
    }
    const auto prepare = [&](detail::task* one) { detail::set_call_settings(one, settings_); };
    return detail::submit_body<body>(prepare, std::in_place, detail::copy_of(function_),
                                     std::forward<Arguments>(arguments)...);
  }

  /// The same function with other options, which replace all former ones.
  [[nodiscard]] remote_function with(task_options options) const {
    return remote_function(detail::copy_of(function_), detail::make_settings(std::move(options)));
  }

 private:
  [[no_unique_address]] Function function_;
  std::shared_ptr<const detail::call_settings> settings_;
};

/// Makes a task of a function: a pointer to a function or member, a lambda without captures, a
/// function object without state or with a cereal `serialize`, or a `ray::bind`. Does not compile
/// for what cannot travel, and says why.
template <typename Function>
[[nodiscard]] auto remote(Function&& function) {
  detail::require_task_function<std::decay_t<Function>>();
  return remote_function<std::decay_t<Function>>(std::forward<Function>(function));
}
template <typename Function>
[[nodiscard]] auto remote(Function&& function, task_options options) {
  detail::require_task_function<std::decay_t<Function>>();
  return remote_function<std::decay_t<Function>>(std::forward<Function>(function),
                                                 detail::make_settings(std::move(options)));
}

}  // namespace ray
