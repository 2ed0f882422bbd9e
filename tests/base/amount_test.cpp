#include <ray/amount.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

namespace {

TEST_CASE("fractions add up exactly") {
  ray::amount sum;
  for (int i = 0; i < 10; ++i) sum = sum + ray::amount(0.1);
  CHECK(sum == ray::amount(1));
  CHECK(sum - ray::amount(0.25) == ray::amount(0.75));
  CHECK(ray::amount(0.5).units() == 5000);
  CHECK(ray::amount(3).value() == 3.0);
}

TEST_CASE("a tiny amount is never free") { CHECK(ray::amount(1e-9).units() == 1); }

TEST_CASE("absurd amounts are held and known") {
  CHECK(ray::amount(0).valid());
  CHECK_FALSE(ray::amount(-1).valid());
  CHECK_FALSE(ray::amount(-0.1).valid());
  CHECK_FALSE(ray::amount(std::nan("")).valid());
  CHECK_FALSE(ray::amount(std::numeric_limits<double>::infinity()).valid());
  CHECK_FALSE(ray::amount(std::numeric_limits<std::uint64_t>::max()).valid());
}

}  // namespace
