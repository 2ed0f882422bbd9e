/// Random numbers that are a function of a counter, so that they do not depend on who draws them.
///
/// Philox4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3", 2011)
/// turns a 128-bit counter and a 64-bit key into 128 random bits. A task that draws the numbers of
/// path 17 at date 5 gets the same ones on any thread, in any order, at any number of workers.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>

namespace example {

using philox_counter = std::array<std::uint32_t, 4>;
using philox_key = std::array<std::uint32_t, 2>;

[[nodiscard]] constexpr philox_counter philox(philox_counter x, philox_key key) noexcept {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = std::uint64_t{0xD2511F53} * x[0];
    const std::uint64_t b = std::uint64_t{0xCD9E8D57} * x[2];
    x = {static_cast<std::uint32_t>(b >> 32) ^ x[1] ^ key[0], static_cast<std::uint32_t>(b),
         static_cast<std::uint32_t>(a >> 32) ^ x[3] ^ key[1], static_cast<std::uint32_t>(a)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return x;
}

// The known answers that the authors publish with their library.
static_assert(philox({0, 0, 0, 0}, {0, 0}) ==
              philox_counter{0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8});
static_assert(philox({0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344}, {0xA4093822, 0x299F31D0}) ==
              philox_counter{0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1});

/// Two independent standard normal numbers (Box and Muller, 1958) from one counter.
[[nodiscard]] inline std::array<double, 2> normals(philox_counter counter, std::uint64_t seed) {
  const auto bits =
      philox(counter, {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)});
  const auto uniform = [](std::uint32_t high, std::uint32_t low) {  // in (0, 1], 53 bits
    const std::uint64_t both = (std::uint64_t{high} << 32) | low;
    return static_cast<double>((both >> 11) + 1) * 0x1p-53;
  };
  const double radius = std::sqrt(-2 * std::log(uniform(bits[0], bits[1])));
  const double angle = 2 * std::numbers::pi * uniform(bits[2], bits[3]);
  return {radius * std::cos(angle), radius * std::sin(angle)};
}

}  // namespace example
