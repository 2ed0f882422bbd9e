/// SHA-1 of messages of one block (at most 55 bytes), the random numbers of unbalanced tree search.
///
/// With the processor's own instructions where it has them: the hash is the work of a tree node,
/// and the less it takes, the more of the time is the scheduler's.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace benchmark {

/// Five words; the digest is these, high byte first.
using sha1_digest = std::array<std::uint32_t, 5>;
/// The block as 16 words, high byte first.
using sha1_block = std::array<std::uint32_t, 16>;

inline constexpr sha1_digest sha1_start = {0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476,
                                           0xC3D2E1F0};

/// FIPS 180-4, section 6.1.2, as it stands there.
[[nodiscard]] constexpr sha1_digest sha1_portable(const sha1_block& block) noexcept {
  auto [a, b, c, d, e] = sha1_start;
  sha1_block w = block;
  for (std::size_t t = 0; t < 80; ++t) {
    auto& word = w[t % 16];
    if (t >= 16) {
      word = std::rotl(w[(t - 3) % 16] ^ w[(t - 8) % 16] ^ w[(t - 14) % 16] ^ word, 1);
    }
    const std::uint32_t f = t < 20              ? (b & c) | (~b & d)
                            : t < 40 || t >= 60 ? b ^ c ^ d
                                                : (b & c) | (b & d) | (c & d);
    constexpr std::array<std::uint32_t, 4> k = {0x5A827999, 0x6ED9EBA1, 0x8F1BBCDC, 0xCA62C1D6};
    const std::uint32_t next = std::rotl(a, 5) + f + e + k[t / 20] + word;
    e = d;
    d = c;
    c = std::rotl(b, 30);
    b = a;
    a = next;
  }
  return {sha1_start[0] + a, sha1_start[1] + b, sha1_start[2] + c, sha1_start[3] + d,
          sha1_start[4] + e};
}

#if defined(__x86_64__)
/// Four rounds an instruction; `Group` counts them, and its fifth names the function and constant.
template <int Group>
__attribute__((target("sha,sse4.1"))) inline void sha1_rounds(__m128i& abcd, __m128i& before,
                                                              __m128i (&w)[4]) noexcept {
  auto& word = w[Group % 4];
  if constexpr (Group >= 4) {
    const __m128i mixed =
        _mm_xor_si128(_mm_sha1msg1_epu32(word, w[(Group + 1) % 4]), w[(Group + 2) % 4]);
    word = _mm_sha1msg2_epu32(mixed, w[(Group + 3) % 4]);
  }
  // e of the first group is the start value itself; later it follows from a of the group before.
  const __m128i e = Group == 0 ? _mm_add_epi32(before, word) : _mm_sha1nexte_epu32(before, word);
  before = abcd;
  abcd = _mm_sha1rnds4_epu32(abcd, e, Group / 5);
}

/// What GCC's __builtin_cpu_supports does not know before version 14.
inline const bool sha1_in_hardware = [] {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b >> 29 & 1U) != 0 &&
         __builtin_cpu_supports("sse4.1") != 0;
}();

template <int... Groups>
__attribute__((target("sha,sse4.1"))) inline sha1_digest sha1_hardware_groups(
    const sha1_block& block, std::integer_sequence<int, Groups...>) noexcept {
  __m128i w[4];  // std::array would drop the type's alignment
  for (std::size_t i = 0; i < 4; ++i) {
    w[i] = _mm_set_epi32(static_cast<int>(block[4 * i]), static_cast<int>(block[4 * i + 1]),
                         static_cast<int>(block[4 * i + 2]), static_cast<int>(block[4 * i + 3]));
  }
  const __m128i start = _mm_set_epi32(0x67452301, static_cast<int>(0xEFCDAB89),
                                      static_cast<int>(0x98BADCFE), 0x10325476);
  const __m128i start_e = _mm_set_epi32(static_cast<int>(0xC3D2E1F0), 0, 0, 0);
  __m128i abcd = start, before = start_e;
  (sha1_rounds<Groups>(abcd, before, w), ...);
  const __m128i e = _mm_sha1nexte_epu32(before, start_e);
  abcd = _mm_add_epi32(abcd, start);
  return {static_cast<std::uint32_t>(_mm_extract_epi32(abcd, 3)),
          static_cast<std::uint32_t>(_mm_extract_epi32(abcd, 2)),
          static_cast<std::uint32_t>(_mm_extract_epi32(abcd, 1)),
          static_cast<std::uint32_t>(_mm_extract_epi32(abcd, 0)),
          static_cast<std::uint32_t>(_mm_extract_epi32(e, 3))};
}
#endif

[[nodiscard]] inline sha1_digest sha1(const sha1_block& block) noexcept {
#if defined(__x86_64__)
  if (sha1_in_hardware) return sha1_hardware_groups(block, std::make_integer_sequence<int, 20>{});
#endif
  return sha1_portable(block);
}

// "abc", from the same standard.
static_assert(sha1_portable({0x61626380, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 24}) ==
              sha1_digest{0xA9993E36, 0x4706816A, 0xBA3E2571, 0x7850C26C, 0x9CD0D89D});

}  // namespace benchmark
