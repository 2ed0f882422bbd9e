/// The spill files of one process and the space in them. Many records share a file, so that small
/// objects cost no file each; a file goes when its last record dies, and before that the disk gets
/// back every block of it in which nothing lives any more.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "store/file_io.hpp"
#include "store/record.hpp"
#include "store/spill_directory.hpp"

namespace ray::detail::store {

/// One file. Only `spill_files` looks inside; the address names the file in a `record`.
struct spill_file {
  std::uint64_t number = 0;
  std::uint64_t written = 0;  // end of the last record
  std::uint64_t live = 0;     // bytes of records in use
  bool sealed = false;        // nothing will be appended
  /// Bytes in use in each block. A block lies wholly before `written` and holds none: dead for
  /// good.
  std::vector<std::uint32_t> blocks;
  std::shared_ptr<const file_descriptor> reading;  // if it is among the last that were read
};

/// Which files there are and what in them is in use. Any thread may discard a record and open a
/// file for reading; one thread at a time, the writer, begins and fills files.
class spill_files {
 public:
  /// A file that has reached this size takes no further record.
  static constexpr std::uint64_t full_size = std::uint64_t{64} << 20;
  /// What is given back to the disk within a file that stays.
  static constexpr std::uint64_t block_size = std::uint64_t{1} << 20;

  explicit spill_files(const std::filesystem::path& parent);
  ~spill_files();

  spill_files(const spill_files&) = delete;
  spill_files& operator=(const spill_files&) = delete;

  /// Of dead processes, beside our own directory.
  void remove_leftovers() const noexcept { directory_.remove_leftovers(); }

  /// Takes all files from the disk. Records can still be discarded, and nothing else be done.
  void remove_all() noexcept;

  /// A new empty file and its open descriptor. Throws `spill_failure`.
  struct opened {
    spill_file* file;
    file_descriptor descriptor;
  };
  [[nodiscard]] opened begin_file();
  /// Nothing more will be added; a file in which nothing lives goes at once.
  void seal(spill_file& file) noexcept;

  /// Counts the record's space as used. Records of a file are added in the order of their offsets,
  /// and no offset is ever added twice: a hole is punched after the lock is let go.
  void add(const record& added);
  /// Nobody will read the record again; the last one of a sealed file takes the file along.
  void discard(const record& dead) noexcept;

  /// The last few files that were read stay open. Throws `spill_failure`.
  [[nodiscard]] std::shared_ptr<const file_descriptor> open_for_reading(const record& wanted);
  [[nodiscard]] std::string path_of(const spill_file& file) const;

  [[nodiscard]] std::uint64_t live_bytes() const noexcept {
    return live_bytes_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] std::size_t count() const;

 private:
  struct dead_range {
    std::uint64_t begin;
    std::uint64_t end;
  };

  static constexpr std::size_t kept_open = 16;

  void forget(spill_file& file) noexcept;
  [[nodiscard]] dead_range subtract(spill_file& file, const record& dead) noexcept;
  void remove(std::uint64_t number) const noexcept;
  void punch(std::uint64_t number, dead_range range) const noexcept;

  spill_directory directory_;
  mutable std::mutex mutex_;  // of what follows; no system call is made under it
  std::unordered_map<spill_file*, std::unique_ptr<spill_file>> files_;
  std::uint64_t last_number_ = 0;
  std::array<spill_file*, kept_open> recent_{};  // whose `reading` is set
  std::size_t oldest_ = 0;
  std::atomic<std::uint64_t> live_bytes_{0};
};

}  // namespace ray::detail::store
