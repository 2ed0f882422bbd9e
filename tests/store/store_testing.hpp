/// What the tests of the store share: directories that go away, values with functions written by
/// hand, a courier thread, and a disk that fails when told to.
#pragma once

#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <mutex>
#include <new>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <ray/detail/base/value_operations.hpp>
#include <ray/error.hpp>
#include <ray/id.hpp>

#include "store/object_store.hpp"

namespace store_testing {

using namespace ray::detail::store;
using ray::object_id;
using ray::detail::byte_sink;
using ray::detail::byte_source;
using ray::detail::value_operations;

inline constexpr std::size_t kib = 1024;
inline constexpr std::size_t mib = 1024 * kib;

inline object_id id_of(std::uint64_t number) { return {0x7e57, number}; }

/// A directory of its own that goes away with what is in it.
class temporary_directory {
 public:
  temporary_directory() {
    std::string name = (std::filesystem::temp_directory_path() / "ray-store-test-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
    path_ = name;
  }
  ~temporary_directory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  temporary_directory(const temporary_directory&) = delete;
  temporary_directory& operator=(const temporary_directory&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// Of the whole tree, but for the locks.
inline std::vector<std::filesystem::path> files_below(const std::filesystem::path& directory) {
  std::vector<std::filesystem::path> found;
  for (const auto& item : std::filesystem::recursive_directory_iterator(directory)) {
    if (item.is_regular_file() && item.path().filename() != "lock") found.push_back(item.path());
  }
  return found;
}

inline void save_bytes(byte_sink& sink, const void* bytes, std::size_t size) {
  sink.write({static_cast<const std::byte*>(bytes), size});
}
inline void load_bytes(byte_source& source, void* bytes, std::size_t size) {
  source.read({static_cast<std::byte*>(bytes), size});
}

/// Contiguous: of known size, written and read in one piece.
using numbers = std::vector<std::uint64_t>;

inline const value_operations numbers_operations{
    &typeid(numbers),
    sizeof(numbers),
    alignof(numbers),
    [](const void* value) {
      return static_cast<const numbers*>(value)->capacity() * sizeof(std::uint64_t);
    },
    [](const void* value, byte_sink& sink) {
      const auto& all = *static_cast<const numbers*>(value);
      const std::uint64_t count = all.size();
      save_bytes(sink, &count, sizeof count);
      save_bytes(sink, all.data(), count * sizeof(std::uint64_t));
    },
    [](void* storage, byte_source& source) {
      std::uint64_t count = 0;
      load_bytes(source, &count, sizeof count);
      if (count > source.remaining() / sizeof(std::uint64_t)) {
        throw ray::serialization_error("more numbers than bytes");
      }
      numbers all(count);
      load_bytes(source, all.data(), count * sizeof(std::uint64_t));
      ::new (storage) numbers(std::move(all));
    },
    [](void* value) noexcept { static_cast<numbers*>(value)->~numbers(); },
};

/// The same without `heap_size`, and in small pieces: sized only by counting.
inline const value_operations unsized_operations{
    &typeid(numbers),
    sizeof(numbers),
    alignof(numbers),
    nullptr,
    [](const void* value, byte_sink& sink) {
      for (const std::uint64_t number : *static_cast<const numbers*>(value)) {
        save_bytes(sink, &number, sizeof number);
      }
    },
    [](void* storage, byte_source& source) {
      numbers all;
      while (source.remaining() != 0) {
        std::uint64_t number = 0;
        load_bytes(source, &number, sizeof number);
        all.push_back(number);
      }
      ::new (storage) numbers(std::move(all));
    },
    numbers_operations.destroy,
};

inline numbers numbers_of(std::size_t bytes, std::uint64_t seed) {
  numbers all(bytes / sizeof(std::uint64_t));
  for (std::size_t index = 0; index < all.size(); ++index) {
    all[index] = (seed + index) * 0x9e3779b97f4a7c15U;
  }
  return all;
}
inline bool holds(const numbers& all, std::size_t bytes, std::uint64_t seed) {
  if (all.size() != bytes / sizeof(std::uint64_t)) return false;
  for (std::size_t index = 0; index < all.size(); ++index) {
    if (all[index] != (seed + index) * 0x9e3779b97f4a7c15U) return false;
  }
  return true;
}

/// A value in storage that stays, as the runtime keeps one, and its entry.
class object {
 public:
  object(object_store& store, std::size_t bytes, std::uint64_t seed,
         const value_operations& operations = numbers_operations)
      : store_(store), bytes_(bytes), seed_(seed) {
    ::new (static_cast<void*>(storage_)) numbers(numbers_of(bytes, seed));
    try {
      entry_ = store.insert(storage_, operations, id_of(seed));
    } catch (...) {
      // Not tracked: still ours.
      operations.destroy(storage_);
      throw;
    }
  }
  ~object() {
    if (entry_ != nullptr) store_.erase(entry_);
  }
  object(const object&) = delete;
  object& operator=(const object&) = delete;

  [[nodiscard]] entry& tracked() { return *entry_; }
  [[nodiscard]] const numbers& value() const {
    return *std::launder(reinterpret_cast<const numbers*>(storage_));
  }

  /// Pins, compares, unpins.
  [[nodiscard]] bool intact() {
    store_.pin(*entry_);
    const bool same = holds(value(), bytes_, seed_);
    store_.unpin(*entry_);
    return same;
  }
  void erase() { store_.erase(std::exchange(entry_, nullptr)); }
  [[nodiscard]] numbers take() {
    store_.pin(*entry_);
    store_.release(std::exchange(entry_, nullptr));
    auto& stored = *std::launder(reinterpret_cast<numbers*>(storage_));
    numbers taken = std::move(stored);
    stored.~numbers();
    return taken;
  }

 private:
  object_store& store_;
  std::size_t bytes_;
  std::uint64_t seed_;
  alignas(numbers) std::byte storage_[sizeof(numbers)];
  entry* entry_ = nullptr;
};

/// A thread that relieves a store whenever it is woken. Made before the store, started after it.
class courier {
 public:
  [[nodiscard]] options settings(std::size_t limit, const std::filesystem::path& directory) {
    return {limit, directory, [](void* self) { static_cast<courier*>(self)->wake(); }, this};
  }
  void start(object_store& store) {
    thread_ = std::thread([this, &store] {
      for (;;) {
        {
          std::unique_lock lock(mutex_);
          changed_.wait(lock, [this] { return woken_ || stopped_; });
          if (stopped_) return;
          woken_ = false;
        }
        store.relieve();
        {
          const std::lock_guard lock(mutex_);
          rounds_ += 1;
        }
        changed_.notify_all();
      }
    });
  }
  /// Waits until `reached()`, looking again whenever the courier has come to rest.
  template <typename Condition>
  void wait_until(Condition reached) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, reached);
  }
  [[nodiscard]] std::uint64_t rounds() {
    const std::lock_guard lock(mutex_);
    return rounds_;
  }
  /// Before the store goes.
  void stop() {
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
  }
  ~courier() { stop(); }

 private:
  void wake() {
    {
      const std::lock_guard lock(mutex_);
      woken_ = true;
    }
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool woken_ = false;
  std::uint64_t rounds_ = 0;
  bool stopped_ = false;
  std::thread thread_;
};

/// A disk with room for `room` more bytes, and other faults.
struct faults {
  static inline std::atomic<std::int64_t> room{INT64_MAX};
  static inline std::atomic<bool> unreadable{false};
  /// Bytes that a call transfers at most; every other call is interrupted first.
  static inline std::atomic<std::size_t> at_most{SIZE_MAX};
  static inline std::atomic<unsigned> calls{0};

  faults() { heal(); }
  ~faults() { heal(); }

  static void heal() {
    room = INT64_MAX;
    unreadable = false;
    at_most = SIZE_MAX;
    calls = 0;
  }
  static bool interrupted() {
    if (at_most == SIZE_MAX || ++calls % 2 == 0) return false;
    errno = EINTR;
    return true;
  }

  static ssize_t write(int file, const iovec* parts, int count, off_t offset) {
    if (interrupted()) return -1;
    // As a file system does: what still fits is written, and then nothing.
    std::size_t allowed =
        std::min<std::size_t>(at_most, static_cast<std::size_t>(std::max<std::int64_t>(room, 0)));
    std::vector<iovec> fitting;
    std::size_t wanted = 0;
    for (int part = 0; part < count; ++part) {
      iovec cut = parts[part];
      wanted += cut.iov_len;
      cut.iov_len = std::min(cut.iov_len, allowed);
      allowed -= cut.iov_len;
      if (cut.iov_len != 0) fitting.push_back(cut);
    }
    if (fitting.empty() && wanted != 0) {
      errno = ENOSPC;
      return -1;
    }
    const ssize_t written =
        ::pwritev(file, fitting.data(), static_cast<int>(fitting.size()), offset);
    if (written > 0 && room != INT64_MAX) room -= written;
    return written;
  }
  static ssize_t read(int file, void* bytes, std::size_t size, off_t offset) {
    if (interrupted()) return -1;
    if (unreadable) {
      errno = EIO;
      return -1;
    }
    return ::pread(file, bytes, std::min(size, at_most.load()), offset);
  }

  io_calls calls_table{&faults::write, &faults::read};
};

}  // namespace store_testing
