/// `RAY_EXCEPTION(type)`: names an exception type of the program, so that it is rethrown as what it
/// is where the future of a task is got, and not as `ray::task_error`.
#pragma once

#include <concepts>
#include <exception>
#include <string>
#include <type_traits>

#include <ray/detail/base/exception_registry.hpp>

/// At namespace scope, in headers too, as often as you like:
///
///     struct no_such_order : std::runtime_error { using runtime_error::runtime_error; };
///     RAY_EXCEPTION(no_such_order)
///
/// In another process the exception is made again from its `what()` by a constructor that takes a
/// string; if it has a cereal `serialize` (or `save` and `load`, or `load_and_construct`), that
/// carries what else is in it.
#define RAY_EXCEPTION(...)                                                                 \
  [[maybe_unused]] static const bool RAY_DETAIL_UNIQUE_NAME(ray_exception_, __COUNTER__) = \
      ::ray::detail::register_exception<__VA_ARGS__>();

#define RAY_DETAIL_UNIQUE_NAME(prefix, number) RAY_DETAIL_JOIN(prefix, number)
#define RAY_DETAIL_JOIN(prefix, number) prefix##number
