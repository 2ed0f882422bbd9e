/// How one object lies in a spill file: a header, the serialized value, and for a value of more
/// than one chunk a table with the checksum of every chunk. A reader verifies each chunk before a
/// byte of it reaches a deserializer, so a damaged file is an error and never a surprise to user
/// code.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ray::detail::store {

struct spill_file;

inline constexpr std::uint32_t record_magic = 0x53594152;  // "RAYS"
inline constexpr std::uint16_t record_version = 1;
/// Checksums are taken by the chunk, whose limits are the multiples of this in the file: so a large
/// write ends where pages and chunks end. Small enough to be still in the cache when the chunk goes
/// to the kernel or to its reader.
inline constexpr std::size_t chunk_bytes = std::size_t{64} * 1024;

/// In the byte order of the machine: a spill file never leaves its process.
struct record_header {
  std::uint32_t magic = record_magic;
  std::uint16_t version = record_version;
  std::uint16_t reserved = 0;
  std::uint64_t id_high = 0;
  std::uint64_t id_low = 0;
  std::uint64_t length = 0;
  /// XXH3 of the value when it is one chunk, else of the table behind it.
  std::uint64_t checksum = 0;
};
static_assert(sizeof(record_header) == 40);

/// Where a record lies. Empty when there is none.
struct record {
  spill_file* file = nullptr;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;  // of the value, without header and table

  [[nodiscard]] bool empty() const noexcept { return file == nullptr; }
  /// Where in the file the value begins.
  [[nodiscard]] std::uint64_t begin() const noexcept { return offset + sizeof(record_header); }
  /// Of how many chunks the value has a part.
  [[nodiscard]] std::uint64_t chunks() const noexcept {
    if (length == 0) return 0;
    return (begin() + length - 1) / chunk_bytes - begin() / chunk_bytes + 1;
  }
  [[nodiscard]] std::uint64_t table_bytes() const noexcept {
    return chunks() <= 1 ? 0 : chunks() * sizeof(std::uint64_t);
  }
  /// Of the whole record in the file.
  [[nodiscard]] std::uint64_t extent() const noexcept {
    return sizeof(record_header) + length + table_bytes();
  }
};

}  // namespace ray::detail::store
