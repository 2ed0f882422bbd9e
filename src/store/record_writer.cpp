#include "store/record_writer.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

namespace ray::detail::store {

record_writer::record_writer(spill_files& files, const io_calls& calls)
    : files_(files), calls_(calls) {}

record_writer::~record_writer() = default;

void record_writer::begin(object_id id, std::size_t expected) {
  if (buffer_ == nullptr) buffer_ = std::make_unique_for_overwrite<std::byte[]>(buffer_bytes);
  const bool full = end() >= spill_files::full_size ||
                    (end() > 0 && expected > spill_files::full_size - end());
  if (file_ != nullptr && full) {
    flush();
    give_up_file();
  }
  if (file_ == nullptr) {
    try {
      spill_files::opened made = files_.begin_file();
      path_ = files_.path_of(*made.file);
      file_ = made.file;
      descriptor_ = std::move(made.descriptor);
      flushed_ = 0;
      reserved_ = 0;
    } catch (const spill_failure& failed) {
      failure_ = failed.what();
      throw;
    }
  }
  // The place of the header is never split between buffer and file: `finish` fills it in one step.
  if (buffer_bytes - filled_ < sizeof(record_header)) flush();
  open_ = true;
  id_ = id;
  start_ = end();
  filled_ += sizeof(record_header);
  unsummed_ = filled_;
  length_ = 0;
  streamed_ = false;
  sum_.reset();
  sums_.clear();
}

void record_writer::write(std::span<const std::byte> bytes) {
  if (failure_) throw spill_failure(*failure_);
  while (!bytes.empty()) {
    std::size_t size = std::min(bytes.size(), step_bytes - end() % step_bytes);
    if (size >= direct_bytes) {
      // While it is summed, the cache takes in what the write will read.
      sum(bytes.first(size), end());
      flush_before(bytes.first(size));
    } else {
      size = std::min(size, chunk_bytes - end() % chunk_bytes);
      append(bytes.first(size));
      if (end() % chunk_bytes == 0) close_chunk();
    }
    length_ += size;
    bytes = bytes.subspan(size);
  }
}

record record_writer::finish() {
  if (failure_) throw spill_failure(*failure_);
  if (streamed_ || unsummed_ != filled_ || length_ == 0) close_chunk();
  const record made{file_, start_, length_};
  record_header header;
  header.id_high = id_.high;
  header.id_low = id_.low;
  header.length = length_;
  header.checksum = sums_.front();
  if (made.table_bytes() != 0) {
    const auto table = std::as_bytes(std::span(sums_));
    header.checksum = checksum_of(table);
    append(table);
  }
  if (start_ >= flushed_) {
    std::memcpy(buffer_.get() + (start_ - flushed_), &header, sizeof header);
  } else {
    put(std::as_bytes(std::span(&header, 1)), {}, start_);
  }
  files_.add(made);
  open_ = false;
  ++finished_;
  if (filled_ == 0) durable_ = finished_;
  return made;
}

void record_writer::flush() {
  if (failure_) throw spill_failure(*failure_);
  if (filled_ != 0) flush_before({});
}

void record_writer::abandon() noexcept {
  if (!std::exchange(open_, false)) return;
  if (start_ >= flushed_) {
    filled_ = static_cast<std::size_t>(start_ - flushed_);
  } else {
    filled_ = 0;
    flushed_ = start_;
  }
}

void record_writer::reset() noexcept {
  abandon();
  filled_ = 0;
  durable_ = finished_;
  failure_.reset();
  // The offsets of the lost records must not be used again (`spill_files::add`): a new file.
  give_up_file();
}

void record_writer::rest() noexcept {
  if (filled_ == 0) buffer_.reset();
}

void record_writer::append(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    if (filled_ == buffer_bytes) {
      sum_buffered();
      flush_before({});
    }
    const std::size_t part = std::min(bytes.size(), buffer_bytes - filled_);
    std::memcpy(buffer_.get() + filled_, bytes.data(), part);
    filled_ += part;
    bytes = bytes.subspan(part);
  }
}

void record_writer::flush_before(std::span<const std::byte> direct) {
  reserve(end() + direct.size());
  put({buffer_.get(), filled_}, direct, flushed_);
  flushed_ += filled_ + direct.size();
  filled_ = 0;
  unsummed_ = 0;
  durable_ = finished_;
}

/// Blocks that are there already cost a write less than blocks to be found. Where the file system
/// cannot reserve, or has no room for that much, the write shows what is the matter.
void record_writer::reserve(std::uint64_t end) noexcept {
  if (end <= reserved_) return;
  const std::uint64_t from = reserved_;
  reserved_ = std::max(end, from + reserve_bytes);
  if (!reserve_space(descriptor_.get(), from, reserved_)) {
    reserved_ = std::numeric_limits<std::uint64_t>::max();
  }
}

void record_writer::put(std::span<const std::byte> first, std::span<const std::byte> second,
                        std::uint64_t offset) {
  try {
    write_all(calls_, descriptor_.get(), first, second, offset, path_);
  } catch (const spill_failure& failed) {
    failure_ = failed.what();
    throw;
  }
}

/// Takes the checksums of bytes that will lie at `offset` and pass the buffer by.
void record_writer::sum(std::span<const std::byte> step, std::uint64_t offset) {
  sum_buffered();
  while (!step.empty()) {
    const auto room = static_cast<std::size_t>(chunk_bytes - offset % chunk_bytes);
    const auto part = step.first(std::min(step.size(), room));
    if (part.size() == chunk_bytes) {
      sums_.push_back(checksum_of(part));
    } else {
      sum_.update(part);
      streamed_ = true;
      if (part.size() == room) close_chunk();
    }
    offset += part.size();
    step = step.subspan(part.size());
  }
}

void record_writer::sum_buffered() noexcept {
  if (unsummed_ == filled_) return;
  sum_.update({buffer_.get() + unsummed_, filled_ - unsummed_});
  unsummed_ = filled_;
  streamed_ = true;
}

void record_writer::close_chunk() {
  if (streamed_) {
    sum_buffered();
    sums_.push_back(sum_.digest());
    sum_.reset();
    streamed_ = false;
  } else {
    // All of it lies in the buffer: faster in one piece.
    sums_.push_back(checksum_of({buffer_.get() + unsummed_, filled_ - unsummed_}));
    unsummed_ = filled_;
  }
}

/// Cuts off what is reserved, or has failed, behind the last record. That this may not work is of no
/// account: the file has an end of its own, the store's books.
void record_writer::give_up_file() noexcept {
  if (file_ == nullptr) return;
  [[maybe_unused]] const int ignored = ::ftruncate(descriptor_.get(), static_cast<off_t>(flushed_));
  files_.seal(*std::exchange(file_, nullptr));
  descriptor_ = file_descriptor();
}

}  // namespace ray::detail::store
