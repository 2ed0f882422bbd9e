#include "store/checksum.hpp"

// The header alone: nothing to link.
#ifndef XXH_INLINE_ALL
#define XXH_INLINE_ALL
#endif
#include <xxhash.h>

namespace ray::detail::store {

std::uint64_t checksum_of(std::span<const std::byte> bytes) noexcept {
  return XXH3_64bits(bytes.data(), bytes.size());
}

struct running_checksum::state {
  XXH3_state_t of_library;
};

running_checksum::running_checksum() : state_(std::make_unique<state>()) { reset(); }

running_checksum::~running_checksum() = default;

void running_checksum::reset() noexcept { XXH3_64bits_reset(&state_->of_library); }

void running_checksum::update(std::span<const std::byte> bytes) noexcept {
  XXH3_64bits_update(&state_->of_library, bytes.data(), bytes.size());
}

std::uint64_t running_checksum::digest() const noexcept {
  return XXH3_64bits_digest(&state_->of_library);
}

}  // namespace ray::detail::store
