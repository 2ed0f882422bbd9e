/// How fast are objects spilled to disk and restored, beside plain writing and reading?
///
/// Objects of 8 MiB are put until half of them no longer fit. Both sides move the same bytes, to
/// files in the same directory. A write ends in the page cache on both sides, so it is measured
/// twice: until the call returns, and until the disk has the bytes. A read is measured twice too:
/// from the page cache, and after the system was told to forget the file.

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <ray/ray.hpp>
#include <string>
#include <utility>
#include <vector>

#include "benchmark.hpp"

namespace {

using benchmark::seconds;
using values = std::vector<double>;
namespace fs = std::filesystem;

constexpr std::size_t object_bytes = std::size_t{8} << 20;

values make_object(std::size_t number) {
  values object(object_bytes / sizeof(double));
  // Not all alike, lest a clever disk stores one block.
  std::uint64_t state = number + 1;
  for (auto& value : object) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    value = static_cast<double>(state >> 11);
  }
  return object;
}

/// Calls `use` with a descriptor of each file below `directory`.
template <typename Function>
void for_each_file(const fs::path& directory, Function use) {
  for (const auto& entry : fs::recursive_directory_iterator(directory)) {
    if (!entry.is_regular_file()) continue;
    const int file = open(entry.path().c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) continue;
    use(file);
    close(file);
  }
}

double bytes_of_files(const fs::path& directory) {
  double sum = 0;
  for_each_file(directory, [&](int file) {
    struct stat status {};
    // What is allocated, since a hole in a file was never written.
    if (fstat(file, &status) == 0) sum += static_cast<double>(status.st_blocks) * 512;
  });
  return sum;
}

void sync_files(const fs::path& directory) {
  for_each_file(directory, [](int file) { fdatasync(file); });
}

/// Only pages that the disk has can be forgotten.
void forget_files(const fs::path& directory) {
  for_each_file(directory, [](int file) {
    fdatasync(file);
    posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
  });
}

struct times {
  double write = 0, sync = 0, read = 0;  // bytes a second; `sync` is write and sync together
};

/// `count` objects of which half fit.
times spill(const fs::path& directory, std::size_t count, int threads, bool forget) {
  std::vector<values> sources;
  for (std::size_t i = 0; i < count; ++i) sources.push_back(make_object(i));
  auto session = ray::init({.num_cpus = threads,
                            .object_store_memory = count / 2 * object_bytes,
                            .spill_directory = directory});
  std::vector<ray::future<values>> objects;
  const double write = seconds([&] {
    for (auto& source : sources) objects.push_back(ray::put(std::move(source)));
  });
  const double bytes = bytes_of_files(directory);
  const double sync = seconds([&] { sync_files(directory); });
  if (forget) forget_files(directory);

  // What was put last has stayed in memory. It goes, so that nothing is spilled for what returns.
  objects.resize(count / 2);
  const double read = seconds([&] {
    for (std::size_t i = 0; i < objects.size(); ++i) {
      const auto object = objects[i].view();
      benchmark::require(object->size() == object_bytes / sizeof(double), "size after spilling");
    }
  });
  for (std::size_t i = 0; i < objects.size(); ++i) {
    benchmark::require(*objects[i].view() == make_object(i), "value after spilling");
  }
  const double back = std::min(bytes, static_cast<double>(objects.size() * object_bytes));
  return {bytes / write, bytes / (write + sync), back / read};
}

/// The same number of objects to one file and back into fresh memory.
times plain(const fs::path& directory, std::size_t count, bool forget) {
  std::vector<values> sources;
  for (std::size_t i = 0; i < count / 2; ++i) sources.push_back(make_object(i));
  const fs::path path = directory / "plain";
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  benchmark::require(file >= 0, "open " + path.string());
  const auto whole = [&](auto transfer, auto* data) {
    for (std::size_t done = 0; done < object_bytes;) {
      const auto moved = transfer(file, data + done, object_bytes - done);
      benchmark::require(moved > 0, "plain write or read (is the disk full?)");
      done += static_cast<std::size_t>(moved);
    }
  };
  const double write = seconds([&] {
    for (const auto& source : sources) {
      whole(::write, reinterpret_cast<const std::byte*>(source.data()));
    }
  });
  const double sync = seconds([&] { fdatasync(file); });
  if (forget) posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
  sources.clear();
  lseek(file, 0, SEEK_SET);
  std::vector<std::unique_ptr<std::byte[]>> targets;
  const double read = seconds([&] {
    for (std::size_t i = 0; i < count / 2; ++i) {
      // Plain new, since a vector would write its memory before the bytes come.
      targets.emplace_back(new std::byte[object_bytes]);
      whole(::read, targets.back().get());
    }
  });
  close(file);
  fs::remove(path);
  const auto bytes = static_cast<double>(count / 2 * object_bytes);
  return {bytes / write, bytes / (write + sync), bytes / read};
}

}  // namespace

int main(int argc, char** argv) {
  const auto run = benchmark::parse(
      argc, argv, "Spilling and restoring, beside plain files. In $TMPDIR, else /var/tmp.");
  const char* const wanted = std::getenv("TMPDIR");
  const fs::path directory = fs::path(wanted != nullptr ? wanted : "/var/tmp") /
                             ("ray-benchmark-" + std::to_string(getpid()));
  fs::create_directories(directory);
  const std::size_t count = run.quick ? 8 : 256;

  times ours, theirs, ours_cold, theirs_cold;
  const auto keep_best = [](times& best, const times& next) {
    best = {std::max(best.write, next.write), std::max(best.sync, next.sync),
            std::max(best.read, next.read)};
  };
  for (int round = 0; round < run.rounds; ++round) {
    keep_best(ours, spill(directory, count, run.threads, false));
    keep_best(theirs, plain(directory, count, false));
    keep_best(ours_cold, spill(directory, count, run.threads, true));
    keep_best(theirs_cold, plain(directory, count, true));
  }
  fs::remove_all(directory);

  benchmark::table table("spilling, " + std::to_string(count / 2 * object_bytes >> 20) + " MiB",
                         run);
  // Milliseconds a GiB, so that less is better here as everywhere.
  const auto cost = [](double rate) { return 1e3 * static_cast<double>(1 << 30) / rate; };
  table.row("spill, into the page cache", "ms a GiB", cost(ours.write), "write()",
            cost(theirs.write));
  table.row("spill, until the disk has it", "ms a GiB", cost(ours.sync), "write(), fdatasync()",
            cost(theirs.sync));
  table.row("restore, from the page cache", "ms a GiB", cost(ours.read), "read()",
            cost(theirs.read));
  table.row("restore, from the disk", "ms a GiB", cost(ours_cold.read), "read()",
            cost(theirs_cold.read));
}
