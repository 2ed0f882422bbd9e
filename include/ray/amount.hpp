/// `ray::amount`: how much of a resource, in units of 1/10,000, so that fractions add up exactly.
#pragma once

#include <compare>
#include <concepts>
#include <cstdint>
#include <limits>
#include <utility>

namespace ray {

/// A quantity of a resource: converts from any arithmetic type and counts in units of 1/10,000.
///
/// Absurd values (negative, NaN, infinite) can be held, so that the error is raised where the
/// amount is used and can name the task; see `valid`.
class amount {
 public:
  static constexpr std::int64_t units_per_one = 10'000;

  constexpr amount() noexcept = default;

  template <typename Number>
    requires std::integral<Number> || std::floating_point<Number>
  constexpr amount(Number value) noexcept : units_(to_units(value)) {}

  /// The amount of exactly `units` ten-thousandths.
  [[nodiscard]] static constexpr amount from_units(std::int64_t units) noexcept {
    amount result;
    result.units_ = units;
    return result;
  }

  [[nodiscard]] constexpr std::int64_t units() const noexcept { return units_; }
  [[nodiscard]] constexpr double value() const noexcept {
    return static_cast<double>(units_) / static_cast<double>(units_per_one);
  }
  /// Whether it is neither negative nor NaN nor too large to count.
  [[nodiscard]] constexpr bool valid() const noexcept { return units_ >= 0; }

  friend constexpr auto operator<=>(amount, amount) noexcept = default;
  friend constexpr amount operator+(amount left, amount right) noexcept {
    return from_units(left.units_ + right.units_);
  }
  friend constexpr amount operator-(amount left, amount right) noexcept {
    return from_units(left.units_ - right.units_);
  }

 private:
  static constexpr std::int64_t invalid = std::numeric_limits<std::int64_t>::min();
  // Sums of a few thousand amounts must not overflow.
  static constexpr std::int64_t limit = std::numeric_limits<std::int64_t>::max() / 4096;

  template <typename Number>
  static constexpr std::int64_t to_units(Number value) noexcept {
    if constexpr (std::floating_point<Number>) {
      const double scaled = static_cast<double>(value) * static_cast<double>(units_per_one);
      if (!(scaled >= 0) || scaled > static_cast<double>(limit)) return invalid;
      // Rounded up, so that a tiny request is never free of charge.
      const auto whole = static_cast<std::int64_t>(scaled);
      return scaled - static_cast<double>(whole) > 1e-6 ? whole + 1 : whole;
    } else {
      if (std::cmp_less(value, 0) || std::cmp_greater(value, limit / units_per_one)) return invalid;
      return static_cast<std::int64_t>(value) * units_per_one;
    }
  }

  std::int64_t units_ = 0;
};

}  // namespace ray
