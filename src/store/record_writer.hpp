/// Writes serialized objects into spill files, one record behind the other, through one bounded
/// buffer. Small pieces are gathered there, those of several objects together; large contiguous
/// ones go to the file from where they lie. Both are checksummed on the way, a chunk at a time.
#pragma once

#include <ray/detail/base/value_operations.hpp>
#include <ray/id.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "store/checksum.hpp"
#include "store/file_io.hpp"
#include "store/record.hpp"
#include "store/spill_files.hpp"

namespace ray::detail::store {

/// The sink of the serializers: `begin`, any number of `write`, then `finish` or `abandon`.
///
/// A finished record may still be in the buffer: its object must stay in memory until `durable()`
/// has passed it. After a failure nothing works until `reset`, so that a serializer which swallows
/// the exception of a full disk cannot make a record with a gap. One thread at a time.
class record_writer final : public byte_sink {
 public:
  record_writer(spill_files& files, const io_calls& calls);
  ~record_writer();

  record_writer(const record_writer&) = delete;
  record_writer& operator=(const record_writer&) = delete;

  /// Starts a record, in a new file if the current one is full or `expected` bytes would not fit.
  /// Throws `spill_failure`, as do the next three.
  void begin(object_id id, std::size_t expected);
  void write(std::span<const std::byte> bytes) override;
  [[nodiscard]] record finish();
  /// Empties the buffer into the file.
  void flush();

  /// Forgets what was written since `begin`.
  void abandon() noexcept;
  /// After a failure: gives the file up, cut behind the last durable record.
  void reset() noexcept;
  /// Frees the buffer, which must have been flushed; the next `begin` makes it again.
  void rest() noexcept;

  /// What went wrong since the last `reset`, if anything.
  [[nodiscard]] const std::optional<std::string>& failure() const noexcept { return failure_; }
  /// Records finished since the start, and how many of these are in their files.
  [[nodiscard]] std::uint64_t finished() const noexcept { return finished_; }
  [[nodiscard]] std::uint64_t durable() const noexcept { return durable_; }

 private:
  /// The buffer is a window on the file: what will lie at an offset lies at the same distance from
  /// a multiple of this. So writes end where pages end, and the kernel copies at its best.
  static constexpr std::size_t window_bytes = std::size_t{1} << 20;
  /// Pieces from this size on are written from where they lie.
  static constexpr std::size_t direct_bytes = std::size_t{256} << 10;
  /// Disk space is reserved in advance by this much, for a third less work a write.
  static constexpr std::uint64_t reserve_bytes = std::uint64_t{8} << 20;

  [[nodiscard]] std::byte* place_of(std::uint64_t offset) const noexcept {
    return buffer_.get() + offset % window_bytes;
  }
  [[nodiscard]] std::size_t left_in_window() const noexcept {
    return static_cast<std::size_t>(window_bytes - end_ % window_bytes);
  }
  [[nodiscard]] std::span<const std::byte> buffered_from(std::uint64_t offset) const noexcept {
    return {place_of(offset), static_cast<std::size_t>(end_ - offset)};
  }
  void append(std::span<const std::byte> bytes);
  void begin_file();
  void flush_with(std::span<const std::byte> direct);
  void reserve(std::uint64_t end) noexcept;
  void put(std::span<const std::byte> first, std::span<const std::byte> second,
           std::uint64_t offset);
  void sum(std::span<const std::byte> piece);
  void sum_buffered() noexcept;
  void close_chunk();
  void close_streamed_chunk();
  void give_up_file() noexcept;

  spill_files& files_;
  const io_calls& calls_;
  spill_file* file_ = nullptr;
  file_descriptor descriptor_;
  std::string path_;
  page_buffer buffer_;
  // Offsets in the file. From `flushed_` to `end_`, all in one window, it is still in the buffer.
  std::uint64_t flushed_ = 0;
  std::uint64_t end_ = 0;
  std::uint64_t reserved_ = 0;
  std::uint64_t finished_ = 0;
  std::uint64_t durable_ = 0;
  std::optional<std::string> failure_;

  // The record under way.
  bool open_ = false;
  object_id id_{};
  std::uint64_t start_ = 0;
  std::uint64_t length_ = 0;
  std::uint64_t summed_ = 0;  // what lies between this and `end_` is in no checksum yet
  bool streamed_ = false;     // `sum_` has seen a part of this chunk
  running_checksum sum_;
  std::vector<std::uint64_t> sums_;  // of the closed chunks
};

}  // namespace ray::detail::store
