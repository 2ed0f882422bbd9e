#include "system/text_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>

namespace ray::detail::system {

namespace {

constexpr std::size_t longest_text = std::size_t{16} << 20;

std::error_code read_all(int descriptor, std::string& text) {
  struct stat status {};
  if (::fstat(descriptor, &status) != 0) return {errno, std::generic_category()};
  if (S_ISDIR(status.st_mode)) return std::make_error_code(std::errc::is_a_directory);
  if (!S_ISREG(status.st_mode)) return std::make_error_code(std::errc::invalid_argument);
  std::array<char, 4096> part;
  for (;;) {
    const auto count = ::read(descriptor, part.data(), part.size());
    if (count == 0) return {};
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return {errno, std::generic_category()};
    text.append(part.data(), static_cast<std::size_t>(count));
    if (text.size() > longest_text) return std::make_error_code(std::errc::file_too_large);
  }
}

}  // namespace

std::string read_text_file(const std::filesystem::path& file, std::error_code& error) {
  // O_NONBLOCK, since opening a pipe that nobody writes to would wait for ever.
  const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) {
    error = {errno, std::generic_category()};
    return {};
  }
  std::string text;
  error = read_all(descriptor, text);
  ::close(descriptor);
  if (error) text.clear();
  return text;
}

}  // namespace ray::detail::system
