#include "system/process.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <system_error>
#include <utility>

namespace ray::detail::system {

std::filesystem::path without_deleted_mark(std::string link) {
  constexpr std::string_view mark = " (deleted)";
  std::error_code ignored;
  // A program may really be called so.
  if (link.ends_with(mark) && !std::filesystem::exists(link, ignored)) {
    link.resize(link.size() - mark.size());
  }
  return link;
}

std::filesystem::path executable_path() {
  std::error_code error;
  auto link = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? std::filesystem::path() : without_deleted_mark(std::move(link).string());
}

std::optional<std::size_t> parse_resident_pages(std::string_view text) noexcept {
  text.remove_prefix(std::min(text.find(' '), text.size()));
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  std::size_t pages = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), pages);
  if (error != std::errc()) return std::nullopt;
  return pages;
}

std::size_t process_resident_bytes() noexcept {
  // Read by hand: this is asked again and again, and when memory is short.
  const int descriptor = ::open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return 0;
  std::array<char, 256> text;
  const auto count = ::read(descriptor, text.data(), text.size());
  ::close(descriptor);
  if (count <= 0) return 0;
  const auto pages = parse_resident_pages({text.data(), static_cast<std::size_t>(count)});
  return pages.value_or(0) * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

void set_thread_name(std::string_view name) noexcept {
  // A longer name would be refused as a whole.
  std::array<char, 16> buffer{};
  name.copy(buffer.data(), buffer.size() - 1);
  ::pthread_setname_np(::pthread_self(), buffer.data());
}

std::string thread_name() {
  std::array<char, 16> buffer{};
  if (::pthread_getname_np(::pthread_self(), buffer.data(), buffer.size()) != 0) return {};
  return buffer.data();
}

}  // namespace ray::detail::system
