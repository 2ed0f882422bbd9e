#include "store/record_reader.hpp"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cstring>

#include <ray/error.hpp>

#include "store/checksum.hpp"

namespace ray::detail::store {

record_reader::record_reader(spill_files& files, const io_calls& calls, const record& wanted,
                             object_id id)
    : files_(files), calls_(calls), record_(wanted), file_(files.open_for_reading(wanted)) {
  const auto extent = static_cast<std::size_t>(record_.extent());
  if (extent <= chunk_bytes) {
    // All in one read.
    small_ = std::make_unique_for_overwrite<std::byte[]>(extent);
    read_exactly({small_.get(), extent}, record_.offset);
    take_header({small_.get(), sizeof(record_header)}, id);
    const std::span value(small_.get() + sizeof(record_header), remaining());
    take_table({value.data() + value.size(), static_cast<std::size_t>(record_.table_bytes())});
    verify(value, 0);
    buffered_ = value;
    return;
  }
  std::array<std::byte, sizeof(record_header)> header;
  read_exactly(header, record_.offset);
  take_header(header, id);
  std::vector<std::byte> table(static_cast<std::size_t>(record_.table_bytes()));
  read_exactly(table, record_.begin() + record_.length);
  take_table(table);
  // The kernel reads further ahead, for what is no longer in its cache.
  ::posix_fadvise(file_->get(), static_cast<off_t>(record_.offset), static_cast<off_t>(extent),
                  POSIX_FADV_SEQUENTIAL);
}

void record_reader::read(std::span<std::byte> bytes) {
  if (failure_) throw spill_failure(*failure_);
  if (bytes.size() > remaining()) {
    throw serialization_error("a value asks for " + std::to_string(bytes.size()) + " bytes where " +
                              std::to_string(remaining()) +
                              " are left of what it wrote; its load must read what its save wrote");
  }
  while (!bytes.empty()) {
    if (buffered_.empty()) {
      const std::size_t whole = whole_chunks(bytes.size());
      if (whole != 0 && !lies_badly(bytes.data())) {
        read_verified(bytes.first(whole));
        position_ += whole;
        bytes = bytes.subspan(whole);
        continue;
      }
      if (chunk_ == nullptr) chunk_ = make_page_buffer(chunk_bytes);
      // As far from a page's begin as in the file.
      const std::span chunk(chunk_.get() + chunk_bytes - chunk_left(),
                            std::min(chunk_left(), remaining()));
      read_verified(chunk);
      buffered_ = chunk;
    }
    const std::size_t part = std::min(bytes.size(), buffered_.size());
    std::memcpy(bytes.data(), buffered_.data(), part);
    buffered_ = buffered_.subspan(part);
    position_ += part;
    bytes = bytes.subspan(part);
  }
}

/// From `position_`, where the value or a chunk begins, to the end of that chunk.
std::size_t record_reader::chunk_left() const noexcept {
  return static_cast<std::size_t>(chunk_bytes - (record_.begin() + position_) % chunk_bytes);
}

bool record_reader::lies_badly(const std::byte* destination) const noexcept {
  return copies_slowly(record_.begin() + position_, address_of(destination));
}

/// How many of `wanted` bytes are whole chunks, and not too many to be verified in the cache.
std::size_t record_reader::whole_chunks(std::size_t wanted) const noexcept {
  const std::size_t limit = std::min({wanted, remaining(), direct_bytes});
  if (limit == remaining()) return limit;
  const std::size_t first = chunk_left();
  if (limit < first) return 0;
  return first + (limit - first) / chunk_bytes * chunk_bytes;
}

/// Fills `bytes` with whole chunks from `position_` on.
void record_reader::read_verified(std::span<std::byte> bytes) {
  read_exactly(bytes, record_.begin() + position_);
  verify(bytes, position_);
}

void record_reader::verify(std::span<const std::byte> bytes, std::uint64_t position) {
  if (bytes.empty() && sums_.front() != checksum_of({})) fail("its checksum is wrong");
  const std::uint64_t first_chunk = record_.begin() / chunk_bytes;
  while (!bytes.empty()) {
    const std::uint64_t offset = record_.begin() + position;
    const auto size =
        std::min(bytes.size(), static_cast<std::size_t>(chunk_bytes - offset % chunk_bytes));
    const auto index = static_cast<std::size_t>(offset / chunk_bytes - first_chunk);
    if (checksum_of(bytes.first(size)) != sums_[index]) {
      fail("the checksum of its bytes from " + std::to_string(position) + " to " +
           std::to_string(position + size) + " is wrong");
    }
    position += size;
    bytes = bytes.subspan(size);
  }
}

void record_reader::read_exactly(std::span<std::byte> bytes, std::uint64_t offset) {
  const read_result result = read_up_to(calls_, file_->get(), bytes, offset);
  if (result.error != 0) {
    const spill_failure failed("read", files_.path_of(*record_.file), result.error);
    failure_ = failed.what();
    throw failed;
  }
  if (result.size != bytes.size()) {
    fail("the file ends at byte " + std::to_string(offset + result.size));
  }
}

void record_reader::take_header(std::span<const std::byte> bytes, object_id id) {
  record_header header;
  std::memcpy(&header, bytes.data(), sizeof header);
  if (header.magic != record_magic || header.version != record_version) fail("its header is wrong");
  if (object_id{header.id_high, header.id_low} != id) fail("it is of another object");
  if (header.length != record_.length) fail("its length is wrong");
  sums_.assign(1, header.checksum);
}

/// Without a table, the header's checksum is that of the value.
void record_reader::take_table(std::span<const std::byte> bytes) {
  if (bytes.empty()) return;
  if (checksum_of(bytes) != sums_.front()) fail("its table of checksums is wrong");
  sums_.resize(bytes.size() / sizeof(std::uint64_t));
  std::memcpy(sums_.data(), bytes.data(), bytes.size());
}

void record_reader::fail(const std::string& why) {
  failure_ = "the record at byte " + std::to_string(record_.offset) + " of spill file " +
             files_.path_of(*record_.file) + " is damaged: " + why +
             "; the disk, or a program that writes to this file, is at fault";
  throw spill_failure(*failure_);
}

}  // namespace ray::detail::store
