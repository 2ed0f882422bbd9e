/// The directory of one process's spill files, PARENT/ray-spill-UID/PID-RANDOM/, made when it is
/// first needed and removed at the end. It belongs to the living while the lock on its file `lock`
/// is held; the kernel drops that lock with the process, and then anyone of the same user may
/// remove the directory.
#pragma once

#include <filesystem>
#include <string>

#include "store/file_io.hpp"

namespace ray::detail::store {

/// Every path below PARENT is opened relative to its directory, without following symbolic links,
/// and only if that directory is this user's own: PARENT is often /tmp, where others write too.
///
/// `create` is called by one thread at a time; the rest from any thread once it has returned.
class spill_directory {
 public:
  /// An empty path means the system's temporary directory. Touches no file.
  explicit spill_directory(const std::filesystem::path& parent);
  ~spill_directory();

  spill_directory(const spill_directory&) = delete;
  spill_directory& operator=(const spill_directory&) = delete;

  /// Makes the directory and locks it, if that has not been done. Throws `spill_failure`.
  void create();
  [[nodiscard]] bool exists() const noexcept { return directory_.valid(); }
  /// Removes it with the files in it, for good; the descriptor stays open and leads nowhere.
  void remove() noexcept;
  /// Of the open directory, for the `*at` calls.
  [[nodiscard]] int descriptor() const noexcept { return directory_.get(); }
  [[nodiscard]] std::string path_of(const std::string& name) const { return path_ + '/' + name; }

  /// Removes the directories beside this one whose process is dead, and leaves all else alone. What
  /// cannot be removed stays, without a word: a later start may be luckier.
  void remove_leftovers() const noexcept;

 private:
  [[nodiscard]] file_descriptor open_users_directory() const;

  const std::filesystem::path parent_;
  std::string users_path_;  // PARENT/ray-spill-UID
  std::string name_;        // PID-RANDOM
  std::string path_;
  file_descriptor users_directory_;
  file_descriptor directory_;
  file_descriptor lock_;
  pid_t owner_ = 0;  // 0: not made yet, or removed
};

}  // namespace ray::detail::store
