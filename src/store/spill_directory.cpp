#include "store/spill_directory.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace ray::detail::store {

namespace {

constexpr const char* lock_name = "lock";
constexpr unsigned private_mode = 0700;

std::string random_hex() {
  std::uint64_t bits = 0;
  if (::getrandom(&bits, sizeof bits, GRND_NONBLOCK) != static_cast<ssize_t>(sizeof bits)) {
    // Names only need to differ: `create` tries another when one is taken.
    bits = static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
  }
  std::array<char, 16> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), bits, 16);
  return {digits.data(), end.ptr};
}

/// Whether a directory of ours could be called so: digits, a dash, hexadecimal digits.
bool looks_like_ours(std::string_view name) {
  const std::size_t dash = name.find('-');
  if (dash == 0 || dash == std::string_view::npos || dash + 1 == name.size()) return false;
  const auto all_of = [](std::string_view text, std::string_view allowed) {
    return text.find_first_not_of(allowed) == std::string_view::npos;
  };
  return all_of(name.substr(0, dash), "0123456789") &&
         all_of(name.substr(dash + 1), "0123456789abcdef");
}

/// The names in a directory, without "." and "..".
std::vector<std::string> names_in(int directory) {
  std::vector<std::string> names;
  // The stream takes the descriptor over and moves its offset: it gets one of its own.
  file_descriptor own = open_at(directory, ".", O_RDONLY | O_DIRECTORY);
  if (!own.valid()) return names;
  struct close_stream {
    void operator()(DIR* stream) const noexcept { ::closedir(stream); }
  };
  const std::unique_ptr<DIR, close_stream> stream(::fdopendir(own.get()));
  if (stream == nullptr) return names;
  [[maybe_unused]] const int taken_over = own.release();
  while (const dirent* item = ::readdir(stream.get())) {
    const std::string_view name = item->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  return names;
}

/// Removes `name` in `users_directory` with the files in it, the lock last: should we die half-way,
/// the next one goes on.
void remove_directory(int users_directory, int directory, const std::string& name) {
  for (const std::string& file : names_in(directory)) {
    if (file != lock_name) ::unlinkat(directory, file.c_str(), 0);
  }
  ::unlinkat(directory, lock_name, 0);
  ::unlinkat(users_directory, name.c_str(), AT_REMOVEDIR);
}

void remove_if_dead(int users_directory, const std::string& name) {
  const file_descriptor directory = open_at(users_directory, name.c_str(), O_RDONLY | O_DIRECTORY);
  if (!directory.valid()) return;
  const file_descriptor lock = open_at(directory.get(), lock_name, O_RDWR);
  if (!lock.valid()) {
    // Being born, or its removal was interrupted. `rmdir` takes only an empty one, and who was
    // about to put a lock into it will see that it is gone and make another.
    if (errno == ENOENT) ::unlinkat(users_directory, name.c_str(), AT_REMOVEDIR);
    return;
  }
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) == 0) {
    remove_directory(users_directory, directory.get(), name);
  }
}

/// Absolute, so that a change of the working directory changes nothing.
std::filesystem::path resolved(const std::filesystem::path& parent) {
  std::error_code failed;
  std::filesystem::path found =
      parent.empty() ? std::filesystem::temp_directory_path(failed) : parent;
  if (failed) found = "/tmp";
  std::filesystem::path whole = std::filesystem::absolute(found, failed);
  return failed ? found : whole;
}

}  // namespace

spill_directory::spill_directory(const std::filesystem::path& parent)
    : parent_(resolved(parent)),
      users_path_((parent_ / ("ray-spill-" + std::to_string(::geteuid()))).string()) {}

spill_directory::~spill_directory() { remove(); }

void spill_directory::remove() noexcept {
  // A child by fork has a copy of this object; the files are its parent's.
  if (std::exchange(owner_, 0) != ::getpid()) return;
  try {
    remove_directory(users_directory_.get(), directory_.get(), name_);
  } catch (const std::bad_alloc&) {
    // Then the next process of this user removes it.
  }
  lock_ = file_descriptor();
}

void spill_directory::create() {
  if (exists()) return;
  std::error_code failed;
  std::filesystem::create_directories(parent_, failed);
  if (failed) throw spill_failure("make the spill directory", parent_.string(), failed.value());
  if (::mkdir(users_path_.c_str(), private_mode) != 0 && errno != EEXIST) {
    throw spill_failure("make the spill directory", users_path_, errno);
  }
  file_descriptor users = open_users_directory();

  // Another process may take a directory without a held lock for dead and remove it, until ours is
  // in its place and locked; so that is checked last, and lost races are run again.
  for (int attempt = 0; attempt < 64; ++attempt) {
    const std::string name = std::to_string(::getpid()) + '-' + random_hex();
    const std::string path = users_path_ + '/' + name;
    if (::mkdirat(users.get(), name.c_str(), private_mode) != 0) {
      if (errno == EEXIST) continue;
      throw spill_failure("make the spill directory", path, errno);
    }
    file_descriptor directory = open_at(users.get(), name.c_str(), O_RDONLY | O_DIRECTORY);
    if (!directory.valid()) {
      if (errno == ENOENT) continue;
      throw spill_failure("open the spill directory", path, errno);
    }
    file_descriptor lock = open_at(directory.get(), lock_name, O_RDWR | O_CREAT | O_EXCL, 0600);
    if (!lock.valid()) {
      if (errno == ENOENT) continue;
      const int code = errno;
      ::unlinkat(users.get(), name.c_str(), AT_REMOVEDIR);
      throw spill_failure("make the lock file", path + '/' + lock_name, code);
    }
    if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
      if (errno == EWOULDBLOCK) continue;
      const int code = errno;
      remove_directory(users.get(), directory.get(), name);
      throw spill_failure("lock", path + '/' + lock_name, code);
    }
    struct stat locked {};
    if (::fstat(lock.get(), &locked) != 0 || locked.st_nlink == 0) continue;

    // A lock on the directory itself keeps systemd-tmpfiles from ageing the files away.
    ::flock(directory.get(), LOCK_SH | LOCK_NB);
    owner_ = ::getpid();
    name_ = name;
    path_ = path;
    users_directory_ = std::move(users);
    lock_ = std::move(lock);
    directory_ = std::move(directory);
    return;
  }
  throw spill_failure("make a spill directory in", users_path_, EAGAIN);
}

void spill_directory::remove_leftovers() const noexcept {
  try {
    const file_descriptor users = open_users_directory();
    for (const std::string& name : names_in(users.get())) {
      if (looks_like_ours(name) && name != name_) remove_if_dead(users.get(), name);
    }
  } catch (const std::exception&) {
    // No such directory, or not ours: nothing to remove.
  }
}

file_descriptor spill_directory::open_users_directory() const {
  file_descriptor users = open_at(AT_FDCWD, users_path_.c_str(), O_RDONLY | O_DIRECTORY);
  if (!users.valid()) throw spill_failure("open the spill directory", users_path_, errno);
  struct stat found {};
  if (::fstat(users.get(), &found) != 0) {
    throw spill_failure("look at the spill directory", users_path_, errno);
  }
  if (found.st_uid != ::geteuid()) {
    throw spill_failure("cannot use the spill directory " + users_path_ +
                        ": it belongs to another user; choose another place with "
                        "config::spill_directory or RAY_SPILL_DIR");
  }
  if ((found.st_mode & 0077) != 0 && ::fchmod(users.get(), private_mode) != 0) {
    throw spill_failure("take others' access from", users_path_, errno);
  }
  return users;
}

}  // namespace ray::detail::store
