/// Reads one record back: from its file in chunks, each verified before the deserializer sees a
/// byte of it. Where the deserializer asks for a whole chunk or more, it is read straight to where
/// it goes; the rest passes through a buffer of one chunk.
#pragma once

#include <ray/detail/base/value_operations.hpp>
#include <ray/id.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "store/file_io.hpp"
#include "store/record.hpp"
#include "store/spill_files.hpp"

namespace ray::detail::store {

/// The source of the deserializers. One thread; the record must stay in use meanwhile.
class record_reader final : public byte_source {
 public:
  /// Opens the file and checks that the record is the one of `id`. Throws `spill_failure`.
  record_reader(spill_files& files, const io_calls& calls, const record& wanted, object_id id);

  /// Throws `spill_failure` for what is wrong with the file, also remembered in `failure()`, and
  /// `serialization_error` when the value asks for more than was written.
  void read(std::span<std::byte> bytes) override;
  [[nodiscard]] std::size_t remaining() const override {
    return static_cast<std::size_t>(record_.length - position_);
  }

  /// What is wrong with file or record, if anything was found: a deserializer may have caught it.
  [[nodiscard]] const std::optional<std::string>& failure() const noexcept { return failure_; }

 private:
  /// Read at once, then verified while in the cache.
  static constexpr std::size_t direct_bytes = std::size_t{256} << 10;

  void take_header(std::span<const std::byte> bytes, object_id id);
  void take_table(std::span<const std::byte> bytes);
  [[nodiscard]] std::size_t chunk_left() const noexcept;
  [[nodiscard]] bool lies_badly(const std::byte* destination) const noexcept;
  [[nodiscard]] std::size_t whole_chunks(std::size_t wanted) const noexcept;
  void read_verified(std::span<std::byte> bytes);
  void read_exactly(std::span<std::byte> bytes, std::uint64_t offset);
  void verify(std::span<const std::byte> bytes, std::uint64_t position);
  [[noreturn]] void fail(const std::string& why);

  const spill_files& files_;
  const io_calls& calls_;
  const record record_;
  const std::shared_ptr<const file_descriptor> file_;
  std::unique_ptr<std::byte[]> small_;   // a whole small record
  page_buffer chunk_;                    // or a chunk of a large one
  std::span<const std::byte> buffered_;  // verified and not yet read
  std::uint64_t position_ = 0;           // in the value
  std::vector<std::uint64_t> sums_;      // of the chunks
  std::optional<std::string> failure_;
};

}  // namespace ray::detail::store
