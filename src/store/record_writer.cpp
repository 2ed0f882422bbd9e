#include "store/record_writer.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <exception>
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
    files_.seal(*std::exchange(file_, nullptr));
  }
  if (file_ == nullptr) {
    try {
      spill_files::opened made = files_.begin_file();
      path_ = files_.path_of(*made.file);
      file_ = made.file;
      descriptor_ = std::move(made.descriptor);
      flushed_ = 0;
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
  chunk_filled_ = 0;
  streamed_ = false;
  sum_.reset();
  sums_.clear();
}

void record_writer::write(std::span<const std::byte> bytes) {
  if (failure_) throw spill_failure(*failure_);
  while (!bytes.empty()) {
    const auto piece = bytes.first(std::min(bytes.size(), chunk_bytes - chunk_filled_));
    if (piece.size() >= direct_bytes) {
      sum_buffered();
      // While the sum reads the piece, the cache takes it in for the write that follows.
      sum_.update(piece);
      streamed_ = true;
      flush_before(piece);
    } else {
      append(piece);
    }
    length_ += piece.size();
    chunk_filled_ += piece.size();
    if (chunk_filled_ == chunk_bytes) close_chunk();
    bytes = bytes.subspan(piece.size());
  }
}

record record_writer::finish() {
  if (failure_) throw spill_failure(*failure_);
  if (chunk_filled_ != 0 || length_ == 0) close_chunk();
  record_header header;
  header.id_high = id_.high;
  header.id_low = id_.low;
  header.length = length_;
  if (table_bytes(length_) == 0) {
    header.checksum = sums_.front();
  } else {
    const auto table = std::as_bytes(std::span(sums_));
    header.checksum = checksum_of(table);
    append(table);
  }
  if (start_ >= flushed_) {
    std::memcpy(buffer_.get() + (start_ - flushed_), &header, sizeof header);
  } else {
    put(std::as_bytes(std::span(&header, 1)), {}, start_);
  }
  const record made{file_, start_, length_};
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
    return;
  }
  filled_ = 0;
  flushed_ = start_;
  // What is left behind the end is overwritten by the next record; cutting it off only helps a disk
  // that is nearly full, so a failure does not matter.
  [[maybe_unused]] const int ignored = ::ftruncate(descriptor_.get(), static_cast<off_t>(start_));
}

void record_writer::reset() noexcept {
  abandon();
  filled_ = 0;
  durable_ = finished_;
  failure_.reset();
  if (file_ == nullptr) return;
  // The offsets of the lost records must not be used again (`spill_files::add`): a new file.
  [[maybe_unused]] const int ignored = ::ftruncate(descriptor_.get(), static_cast<off_t>(flushed_));
  files_.seal(*std::exchange(file_, nullptr));
  descriptor_ = file_descriptor();
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
  put({buffer_.get(), filled_}, direct, flushed_);
  flushed_ += filled_ + direct.size();
  filled_ = 0;
  unsummed_ = 0;
  durable_ = finished_;
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
    // The whole chunk lies in the buffer: faster in one piece.
    sums_.push_back(checksum_of({buffer_.get() + unsummed_, filled_ - unsummed_}));
    unsummed_ = filled_;
  }
  chunk_filled_ = 0;
}

}  // namespace ray::detail::store
