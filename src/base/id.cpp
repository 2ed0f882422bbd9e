#include <ray/id.hpp>

#include <sys/random.h>

#include <ostream>
#include <random>

namespace ray::detail {

namespace {

std::uint64_t random_bits() {
  std::uint64_t bits = 0;
  // 8 bytes come whole once the system has gathered entropy; before that, or in a sandbox that
  // forbids the call, the C++ library has other sources.
  if (::getrandom(&bits, sizeof(bits), GRND_NONBLOCK) == sizeof(bits)) return bits;
  std::random_device device;
  return (std::uint64_t{device()} << 32) | device();
}

}  // namespace

std::string to_hex(std::uint64_t high, std::uint64_t low) {
  constexpr char digits[] = "0123456789abcdef";
  std::string text(32, '0');
  for (std::size_t i = 0; i < 16; ++i) {
    text[15 - i] = digits[(high >> (4 * i)) & 15];
    text[31 - i] = digits[(low >> (4 * i)) & 15];
  }
  return text;
}

void write_hex(std::ostream& out, std::uint64_t high, std::uint64_t low) {
  out << to_hex(high, low);
}

std::uint64_t process_id_prefix() {
  // Not 0, which with a count of 0 would be the empty id.
  static const std::uint64_t prefix = random_bits() | 1;
  return prefix;
}

}  // namespace ray::detail
