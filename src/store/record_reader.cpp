#include "store/record_reader.hpp"

#include <fcntl.h>

#include <ray/error.hpp>

#include <algorithm>
#include <cstring>

#include "store/checksum.hpp"

namespace ray::detail::store {

record_reader::record_reader(const spill_files& files, const io_calls& calls, const record& wanted,
                             object_id id)
    : calls_(calls),
      record_(wanted),
      path_(files.path_of(*wanted.file)),
      file_(files.open_for_reading(wanted)) {
  const auto length = static_cast<std::size_t>(record_.length);
  if (table_bytes(record_.length) == 0) {
    // Header and value in one read.
    buffer_ = std::make_unique_for_overwrite<std::byte[]>(sizeof(record_header) + length);
    read_exactly({buffer_.get(), sizeof(record_header) + length}, record_.offset);
    record_header header;
    std::memcpy(&header, buffer_.get(), sizeof header);
    check_header(header, id);
    buffered_ = {buffer_.get() + sizeof header, length};
    if (checksum_of(buffered_) != header.checksum) fail("its checksum is wrong");
    return;
  }
  record_header header;
  read_exactly(std::as_writable_bytes(std::span(&header, 1)), record_.offset);
  check_header(header, id);
  sums_.resize(static_cast<std::size_t>(chunks_of(record_.length)));
  read_exactly(std::as_writable_bytes(std::span(sums_)),
               record_.offset + sizeof header + record_.length);
  if (checksum_of(std::as_bytes(std::span(sums_))) != header.checksum) {
    fail("its table of checksums is wrong");
  }
  // The kernel reads further ahead, for what is no longer in its cache.
  ::posix_fadvise(file_.get(), static_cast<off_t>(record_.offset),
                  static_cast<off_t>(record_.extent()), POSIX_FADV_SEQUENTIAL);
}

void record_reader::read(std::span<std::byte> bytes) {
  if (failure_) throw spill_failure(*failure_);
  if (bytes.size() > remaining()) {
    throw serialization_error("a value asks for " + std::to_string(bytes.size()) +
                              " bytes where " + std::to_string(remaining()) +
                              " are left of what it wrote; its load must read what its save wrote");
  }
  while (!bytes.empty()) {
    if (buffered_.empty()) {
      const std::size_t chunk = std::min(chunk_bytes, remaining());
      if (bytes.size() >= chunk) {
        read_verified(bytes.first(chunk));
        position_ += chunk;
        bytes = bytes.subspan(chunk);
        continue;
      }
      if (buffer_ == nullptr) buffer_ = std::make_unique_for_overwrite<std::byte[]>(chunk_bytes);
      read_verified({buffer_.get(), chunk});
      buffered_ = {buffer_.get(), chunk};
    }
    const std::size_t part = std::min(bytes.size(), buffered_.size());
    std::memcpy(bytes.data(), buffered_.data(), part);
    buffered_ = buffered_.subspan(part);
    position_ += part;
    bytes = bytes.subspan(part);
  }
}

/// Reads the chunk at `position_`, which is where one begins.
void record_reader::read_verified(std::span<std::byte> chunk) {
  read_exactly(chunk, record_.offset + sizeof(record_header) + position_);
  if (checksum_of(chunk) != sums_[static_cast<std::size_t>(position_ / chunk_bytes)]) {
    fail("the checksum of its bytes from " + std::to_string(position_) + " to " +
         std::to_string(position_ + chunk.size()) + " is wrong");
  }
}

void record_reader::read_exactly(std::span<std::byte> bytes, std::uint64_t offset) {
  std::size_t found = 0;
  try {
    found = read_up_to(calls_, file_.get(), bytes, offset, path_);
  } catch (const spill_failure& failed) {
    failure_ = failed.what();
    throw;
  }
  if (found != bytes.size()) {
    fail("the file ends at byte " + std::to_string(offset + found));
  }
}

void record_reader::check_header(const record_header& header, object_id id) {
  if (header.magic != record_magic || header.version != record_version) fail("its header is wrong");
  if (object_id{header.id_high, header.id_low} != id) fail("it is of another object");
  if (header.length != record_.length) fail("its length is wrong");
}

void record_reader::fail(const std::string& why) {
  failure_ = "the record at byte " + std::to_string(record_.offset) + " of spill file " + path_ +
             " is damaged: " + why + "; the disk, or a program that writes to this file, is at fault";
  throw spill_failure(*failure_);
}

}  // namespace ray::detail::store
