/// The standard exception types and ray's own, with the ways to make them again.
#pragma once

#include <span>

#include <ray/detail/base/exception_registry.hpp>

namespace ray::detail {

[[nodiscard]] std::span<const exception_operations> built_in_exceptions();

}  // namespace ray::detail
