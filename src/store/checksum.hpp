/// XXH3, 64 bits (Collet, 2019): a checksum against damage, not against malice, that runs at the
/// speed of memory. All that knows the library is in checksum.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace ray::detail::store {

[[nodiscard]] std::uint64_t checksum_of(std::span<const std::byte> bytes) noexcept;

/// The checksum of bytes that come in pieces; the same as `checksum_of` all of them.
class running_checksum {
 public:
  running_checksum();
  ~running_checksum();

  void reset() noexcept;
  void update(std::span<const std::byte> bytes) noexcept;
  [[nodiscard]] std::uint64_t digest() const noexcept;

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace ray::detail::store
