/// Files by descriptor: whole reads and writes over the system calls, which may be interrupted or
/// transfer less than asked, and the one error that everything about spill files throws.
#pragma once

#include <sys/types.h>
#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>

namespace ray::detail::store {

/// The two system calls that a failing disk makes fail. Tests put others in their place.
struct io_calls {
  ssize_t (*write)(int file, const iovec* parts, int count, off_t offset);
  ssize_t (*read)(int file, void* bytes, std::size_t size, off_t offset);
};
extern const io_calls system_io;

/// A spill file or directory failed: what was tried, on which path, and why. It never leaves the
/// store, which knows the object and makes one of `ray::error` of it.
class spill_failure : public std::runtime_error {
 public:
  /// "cannot ACTION PATH: the text of CODE (remedy)".
  spill_failure(const char* action, const std::string& path, int code);
  using std::runtime_error::runtime_error;
};

/// Owns an open file.
class file_descriptor {
 public:
  file_descriptor() noexcept = default;
  explicit file_descriptor(int number) noexcept : number_(number) {}
  file_descriptor(file_descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  file_descriptor& operator=(file_descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~file_descriptor();

  [[nodiscard]] int get() const noexcept { return number_; }
  [[nodiscard]] bool valid() const noexcept { return number_ >= 0; }
  /// Gives the file away without closing it.
  [[nodiscard]] int release() noexcept { return std::exchange(number_, -1); }

 private:
  int number_ = -1;
};

/// `openat` that an interruption does not end; close-on-exec, never through a symbolic link.
[[nodiscard]] file_descriptor open_at(int directory, const char* name, int flags,
                                      unsigned mode = 0) noexcept;

inline constexpr std::size_t page_bytes = 4096;

/// Whether the kernel copies slowly from memory or a file's page at `from` to one at `to`: `rep
/// movsb` takes three times as long on some processors (measured on an AMD EPYC) when the
/// destination lies 1 to 31 bytes behind the source, modulo the page. It is worth another copy to
/// avoid that.
[[nodiscard]] constexpr bool copies_slowly(std::uint64_t from, std::uint64_t to) noexcept {
  const std::uint64_t behind = (to - from) % page_bytes;
  return behind != 0 && behind < 32;
}
[[nodiscard]] inline std::uint64_t address_of(const std::byte* bytes) noexcept {
  return reinterpret_cast<std::uintptr_t>(bytes);
}

/// Memory that begins with a page.
struct free_pages {
  void operator()(std::byte* bytes) const noexcept {
    ::operator delete[](bytes, std::align_val_t{page_bytes});
  }
};
using page_buffer = std::unique_ptr<std::byte[], free_pages>;
[[nodiscard]] inline page_buffer make_page_buffer(std::size_t size) {
  return page_buffer(new (std::align_val_t{page_bytes}) std::byte[size]);
}

/// Writes both parts, one behind the other, at `offset`. Throws `spill_failure` naming `path`; how
/// much is in the file then is not known.
void write_all(const io_calls& calls, int file, std::span<const std::byte> first,
               std::span<const std::byte> second, std::uint64_t offset, const std::string& path);

/// Reads until `bytes` is full, the file ends or a read fails: how much, and `errno` or 0.
struct read_result {
  std::size_t size;
  int error;
};
[[nodiscard]] read_result read_up_to(const io_calls& calls, int file, std::span<std::byte> bytes,
                                     std::uint64_t offset) noexcept;

/// Reserves blocks of the disk for that part of the file, whose size stays as it is. False where
/// the file system cannot, or has no room.
[[nodiscard]] bool reserve_space(int file, std::uint64_t begin, std::uint64_t end) noexcept;

}  // namespace ray::detail::store
