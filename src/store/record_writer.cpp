#include "store/record_writer.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <utility>

namespace ray::detail::store {

record_writer::record_writer(spill_files& files, const io_calls& calls)
    : files_(files), calls_(calls) {}

record_writer::~record_writer() = default;

void record_writer::begin(object_id id, std::size_t expected) {
  if (buffer_ == nullptr) buffer_ = make_page_buffer(window_bytes);
  const bool full =
      end_ >= spill_files::full_size || (end_ > 0 && expected > spill_files::full_size - end_);
  if (file_ != nullptr && full) {
    flush();
    give_up_file();
  }
  if (file_ == nullptr) begin_file();
  // The place of the header is never split between windows: `finish` fills it in one step.
  static constexpr std::array<std::byte, sizeof(record_header)> blank{};
  if (left_in_window() < sizeof(record_header)) {
    append(std::span(blank).first(left_in_window()));
  }
  open_ = true;
  id_ = id;
  start_ = end_;
  append(blank);
  length_ = 0;
  summed_ = end_;
  streamed_ = false;
  sum_.reset();
  sums_.clear();
}

void record_writer::begin_file() {
  try {
    spill_files::opened made = files_.begin_file();
    path_ = files_.path_of(*made.file);
    file_ = made.file;
    descriptor_ = std::move(made.descriptor);
    flushed_ = end_ = reserved_ = 0;
  } catch (const spill_failure& failed) {
    failure_ = failed.what();
    throw;
  }
}

void record_writer::write(std::span<const std::byte> bytes) {
  if (failure_) throw spill_failure(*failure_);
  while (!bytes.empty()) {
    std::size_t size = std::min(bytes.size(), left_in_window());
    if (size >= direct_bytes && !copies_slowly(address_of(bytes.data()), end_)) {
      // While it is summed, the cache takes in what the write will read.
      sum(bytes.first(size));
      flush_with(bytes.first(size));
      summed_ = end_;
    } else {
      size = std::min(size, static_cast<std::size_t>(chunk_bytes - end_ % chunk_bytes));
      append(bytes.first(size));
      if (end_ % chunk_bytes == 0) close_chunk();
    }
    length_ += size;
    bytes = bytes.subspan(size);
  }
}

record record_writer::finish() {
  if (failure_) throw spill_failure(*failure_);
  if (streamed_ || summed_ != end_ || length_ == 0) close_chunk();
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
    std::memcpy(place_of(start_), &header, sizeof header);
  } else {
    put(std::as_bytes(std::span(&header, 1)), {}, start_);
  }
  files_.add(made);
  open_ = false;
  ++finished_;
  if (flushed_ == end_) durable_ = finished_;
  return made;
}

void record_writer::flush() {
  if (failure_) throw spill_failure(*failure_);
  if (flushed_ != end_) flush_with({});
}

void record_writer::abandon() noexcept {
  if (!std::exchange(open_, false)) return;
  end_ = start_;
  flushed_ = std::min(flushed_, start_);
}

void record_writer::reset() noexcept {
  abandon();
  end_ = flushed_;
  durable_ = finished_;
  failure_.reset();
  // The offsets of the lost records must not be used again (`spill_files::add`): a new file.
  give_up_file();
}

void record_writer::rest() noexcept {
  if (flushed_ == end_) buffer_.reset();
}

void record_writer::append(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const auto part = bytes.first(std::min(bytes.size(), left_in_window()));
    std::memcpy(place_of(end_), part.data(), part.size());
    end_ += part.size();
    bytes = bytes.subspan(part.size());
    if (end_ % window_bytes == 0) flush_with({});
  }
}

/// Writes what is in the buffer, and `direct` behind it. The buffer's bytes stay until others take
/// their place.
void record_writer::flush_with(std::span<const std::byte> direct) {
  reserve(end_ + direct.size());
  put(buffered_from(flushed_), direct, flushed_);
  end_ += direct.size();
  flushed_ = end_;
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

/// Takes the checksums of what will lie at the end and pass the buffer by.
void record_writer::sum(std::span<const std::byte> piece) {
  sum_buffered();
  std::uint64_t offset = end_;
  while (!piece.empty()) {
    const auto room = static_cast<std::size_t>(chunk_bytes - offset % chunk_bytes);
    const auto part = piece.first(std::min(piece.size(), room));
    if (part.size() == chunk_bytes) {
      sums_.push_back(checksum_of(part));
    } else {
      sum_.update(part);
      streamed_ = true;
      if (part.size() == room) close_streamed_chunk();
    }
    offset += part.size();
    piece = piece.subspan(part.size());
  }
}

void record_writer::sum_buffered() noexcept {
  if (summed_ == end_) return;
  sum_.update(buffered_from(summed_));
  summed_ = end_;
  streamed_ = true;
}

void record_writer::close_chunk() {
  if (streamed_) {
    sum_buffered();
    close_streamed_chunk();
  } else {
    // All of it lies in the buffer: faster in one piece.
    sums_.push_back(checksum_of(buffered_from(summed_)));
    summed_ = end_;
  }
}

void record_writer::close_streamed_chunk() {
  sums_.push_back(sum_.digest());
  sum_.reset();
  streamed_ = false;
}

/// Cuts off what is reserved, or has failed, behind the last record. That this may not work is of
/// no account: the file has an end of its own, the store's books.
void record_writer::give_up_file() noexcept {
  if (file_ == nullptr) return;
  [[maybe_unused]] const int ignored = ::ftruncate(descriptor_.get(), static_cast<off_t>(flushed_));
  files_.seal(*std::exchange(file_, nullptr));
  descriptor_ = file_descriptor();
}

}  // namespace ray::detail::store
