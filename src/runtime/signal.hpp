/// An object without a value that the runtime itself ends: a placement group's readiness.
#pragma once

#include <ray/detail/runtime/object.hpp>

namespace ray::detail {

/// Not ready; ended by `publish(0)` or `fail`.
[[nodiscard]] object_handle make_signal();

}  // namespace ray::detail
