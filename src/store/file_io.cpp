#include "store/file_io.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>

namespace ray::detail::store {

namespace {

std::string remedy(int code) {
  switch (code) {
    case ENOSPC:
    case EDQUOT:
      return "; free space there or choose a larger disk with config::spill_directory or "
             "RAY_SPILL_DIR";
    case EFBIG:
      return "; raise the limit of file sizes (ulimit -f)";
    case EMFILE:
    case ENFILE:
      return "; raise the limit of open files (ulimit -n)";
    case EACCES:
    case EPERM:
    case EROFS:
    case ENOTDIR:
    case ENOENT:
    case ENOLCK:
    case EOPNOTSUPP:
      return "; choose another place with config::spill_directory or RAY_SPILL_DIR";
    default:
      return {};
  }
}

/// What goes beyond RLIMIT_FSIZE does not only fail: it raises a signal that ends the process. So
/// the limit is looked at first, and a write fails as on a full disk.
bool beyond_size_limit(std::uint64_t end) noexcept {
  rlimit limit{};
  return ::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
         end > limit.rlim_cur;
}

iovec part_of(std::span<const std::byte> bytes) noexcept {
  // writev reads through a pointer that is not const for reasons of its age.
  return {const_cast<std::byte*>(bytes.data()), bytes.size()};
}

}  // namespace

const io_calls system_io{
    [](int file, const iovec* parts, int count, off_t offset) {
      return ::pwritev(file, parts, count, offset);
    },
    [](int file, void* bytes, std::size_t size, off_t offset) {
      return ::pread(file, bytes, size, offset);
    },
};

spill_failure::spill_failure(const char* action, const std::string& path, int code)
    : std::runtime_error("cannot " + std::string(action) + ' ' + path + ": " +
                         std::generic_category().message(code) + remedy(code)) {}

file_descriptor::~file_descriptor() {
  if (number_ >= 0) ::close(number_);
}

file_descriptor open_at(int directory, const char* name, int flags, unsigned mode) noexcept {
  for (;;) {
    const int number = ::openat(directory, name, flags | O_CLOEXEC | O_NOFOLLOW, mode);
    if (number >= 0 || errno != EINTR) return file_descriptor(number);
  }
}

void write_all(const io_calls& calls, int file, std::span<const std::byte> first,
               std::span<const std::byte> second, std::uint64_t offset, const std::string& path) {
  if (beyond_size_limit(offset + first.size() + second.size())) {
    throw spill_failure("write", path, EFBIG);
  }
  while (!first.empty() || !second.empty()) {
    const std::array parts{part_of(first), part_of(second)};
    const ssize_t result = calls.write(file, parts.data(), 2, static_cast<off_t>(offset));
    if (result < 0) {
      if (errno == EINTR) continue;
      throw spill_failure("write", path, errno);
    }
    // A device that takes nothing and reports no error would keep us here for ever.
    if (result == 0) throw spill_failure("write", path, EIO);
    const auto written = static_cast<std::size_t>(result);
    offset += written;
    const std::size_t of_first = std::min(written, first.size());
    first = first.subspan(of_first);
    second = second.subspan(written - of_first);
  }
}

read_result read_up_to(const io_calls& calls, int file, std::span<std::byte> bytes,
                       std::uint64_t offset) noexcept {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t result = calls.read(file, bytes.data() + done, bytes.size() - done,
                                      static_cast<off_t>(offset + done));
    if (result < 0) {
      if (errno == EINTR) continue;
      return {done, errno};
    }
    if (result == 0) break;
    done += static_cast<std::size_t>(result);
  }
  return {done, 0};
}

bool reserve_space(int file, std::uint64_t begin, std::uint64_t end) noexcept {
  return !beyond_size_limit(end) &&
         ::fallocate(file, FALLOC_FL_KEEP_SIZE, static_cast<off_t>(begin),
                     static_cast<off_t>(end - begin)) == 0;
}

}  // namespace ray::detail::store
