/// `ray::duration`, the unit of every timeout, and `ray::forever`, the one that never ends.
#pragma once

#include <chrono>

namespace ray {

/// What every timeout is given as; any `std::chrono` duration that is not finer converts to it.
using duration = std::chrono::nanoseconds;

/// No timeout at all. Code that adds a timeout to a point in time must look for it first: the sum
/// would overflow.
inline constexpr duration forever = duration::max();

}  // namespace ray
