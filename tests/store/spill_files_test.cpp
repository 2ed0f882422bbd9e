// Space in spill files: counted by the record, given back by the block and by the file.
#include "store/spill_files.hpp"

#include <sys/stat.h>

#include <doctest/doctest.h>

#include "store_testing.hpp"

using namespace store_testing;

namespace {

/// Writes and adds a record behind the last one, of `extent` bytes on disk and, if that is more
/// than a chunk, a table.
record add_record(spill_files& files, spill_files::opened& to, std::uint64_t& end,
                  std::uint64_t extent) {
  const record made{to.file, end, extent - sizeof(record_header)};
  const std::vector<std::byte> bytes(made.extent(), std::byte{7});
  write_all(system_io, to.descriptor.get(), bytes, {}, end, "");
  files.add(made);
  end += made.extent();
  return made;
}

std::uint64_t bytes_on_disk(const std::string& path) {
  struct stat found {};
  return ::stat(path.c_str(), &found) == 0 ? static_cast<std::uint64_t>(found.st_blocks) * 512 : 0;
}

}  // namespace

TEST_CASE("a sealed file goes with its last record, an open one stays") {
  const temporary_directory parent;
  spill_files files(parent.path());
  spill_files::opened opened = files.begin_file();
  std::uint64_t end = 0;
  const record first = add_record(files, opened, end, 1'000);
  const record second = add_record(files, opened, end, 2'000);
  CHECK(files.live_bytes() == 3'000);
  CHECK(files.count() == 1);

  files.discard(first);
  CHECK(files.live_bytes() == 2'000);
  files.discard(second);
  CHECK(files.live_bytes() == 0);
  CHECK(files_below(parent.path()).size() == 1);

  const record third = add_record(files, opened, end, 500);
  files.seal(*opened.file);
  CHECK(files_below(parent.path()).size() == 1);
  files.discard(third);
  CHECK(files_below(parent.path()).empty());
  CHECK(files.count() == 0);
}

TEST_CASE("a file in which nothing lives goes when it is sealed") {
  const temporary_directory parent;
  spill_files files(parent.path());
  spill_files::opened opened = files.begin_file();
  std::uint64_t end = 0;
  files.discard(add_record(files, opened, end, 1'000));
  files.seal(*opened.file);
  CHECK(files_below(parent.path()).empty());
}

TEST_CASE("blocks in which nothing lives go back to the disk before the file does") {
  const temporary_directory parent;
  spill_files files(parent.path());
  spill_files::opened opened = files.begin_file();
  const std::string path = files.path_of(*opened.file);
  std::uint64_t end = 0;
  // 64 records of 128 KiB over 8 blocks; the last of each block lives.
  std::vector<record> dead;
  std::vector<record> living;
  for (int index = 0; index < 64; ++index) {
    (index % 8 == 7 ? living : dead).push_back(add_record(files, opened, end, 128 * kib));
  }
  REQUIRE(bytes_on_disk(path) >= 8 * mib);
  for (const record& one : dead) files.discard(one);
  CHECK(bytes_on_disk(path) >= 8 * mib);
  for (int block = 0; block < 4; ++block) {
    files.discard(living[static_cast<std::size_t>(block)]);
  }
  // A file system that knows no holes keeps them.
  const std::uint64_t left = bytes_on_disk(path);
  const bool holes_known = left < 8 * mib;
  if (holes_known) CHECK(left <= 4 * mib + 64 * kib);
  for (std::size_t block = 4; block < 8; ++block) files.discard(living[block]);
  files.seal(*opened.file);
  CHECK(files_below(parent.path()).empty());
}

TEST_CASE("a record across blocks keeps each of them") {
  const temporary_directory parent;
  spill_files files(parent.path());
  spill_files::opened opened = files.begin_file();
  std::uint64_t end = 0;
  const record left = add_record(files, opened, end, 700 * kib);
  const record middle = add_record(files, opened, end, 3 * mib);
  const record right = add_record(files, opened, end, 700 * kib);
  files.discard(left);
  files.discard(right);
  // The blocks at the edges hold a part of the middle one still.
  std::vector<std::byte> found(middle.extent());
  const auto file = files.open_for_reading(middle);
  CHECK(read_up_to(system_io, file->get(), found, middle.offset).size == found.size());
  CHECK(std::count(found.begin(), found.end(), std::byte{7}) ==
        static_cast<std::ptrdiff_t>(found.size()));
  files.discard(middle);
  CHECK(files.live_bytes() == 0);
}

TEST_CASE("only the last few files that were read stay open") {
  const temporary_directory parent;
  spill_files files(parent.path());
  std::vector<record> records;
  for (int file = 0; file < 100; ++file) {
    spill_files::opened opened = files.begin_file();
    std::uint64_t end = 0;
    records.push_back(add_record(files, opened, end, 1'000));
    files.seal(*opened.file);
  }
  const auto open_files = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"),
                         std::filesystem::directory_iterator{});
  };
  const auto before = open_files();
  for (const record& one : records) CHECK(files.open_for_reading(one)->valid());
  CHECK(files.open_for_reading(records.back()) == files.open_for_reading(records.back()));
  CHECK(open_files() - before <= 16);
  for (const record& one : records) files.discard(one);
  CHECK(open_files() == before);
  CHECK(files_below(parent.path()).empty());
}

TEST_CASE("records die on many threads at once") {
  const temporary_directory parent;
  spill_files files(parent.path());
  constexpr std::size_t threads = 4;
  std::vector<std::vector<record>> shares(threads);
  for (int file = 0; file < 3; ++file) {
    spill_files::opened opened = files.begin_file();
    std::uint64_t end = 0;
    for (std::size_t index = 0; index < 400; ++index) {
      shares[index % threads].push_back(add_record(files, opened, end, 10'000));
    }
    files.seal(*opened.file);
  }
  std::vector<std::thread> running;
  for (const auto& share : shares) {
    running.emplace_back([&] {
      for (const record& one : share) files.discard(one);
    });
  }
  for (std::thread& thread : running) thread.join();
  CHECK(files.live_bytes() == 0);
  CHECK(files.count() == 0);
  CHECK(files_below(parent.path()).empty());
}
