// Whole reads and writes over system calls that transfer less than asked, are interrupted, or fail.
#include "store/file_io.hpp"

#include <fcntl.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "store_testing.hpp"

using namespace store_testing;

namespace {

std::vector<std::byte> pattern(std::size_t size) {
  std::vector<std::byte> bytes(size);
  for (std::size_t index = 0; index < size; ++index) {
    bytes[index] = static_cast<std::byte>(index * 7 + index / 256);
  }
  return bytes;
}

struct open_file {
  temporary_directory directory;
  std::string path = (directory.path() / "file").string();
  file_descriptor file = open_at(AT_FDCWD, path.c_str(), O_RDWR | O_CREAT | O_EXCL, 0600);
};

}  // namespace

TEST_CASE("what is written in two parts is read back") {
  const open_file target;
  REQUIRE(target.file.valid());
  const auto bytes = pattern(10'000);
  const std::span all(bytes);
  write_all(system_io, target.file.get(), all.first(3'000), all.subspan(3'000), 5, target.path);
  std::vector<std::byte> found(bytes.size());
  CHECK(read_up_to(system_io, target.file.get(), found, 5).size == found.size());
  CHECK(found == bytes);
}

TEST_CASE("short and interrupted transfers are continued") {
  const faults disk;
  faults::at_most = 7;
  const open_file target;
  const auto bytes = pattern(1'000);
  const std::span all(bytes);
  write_all(disk.calls_table, target.file.get(), all.first(500), all.subspan(500), 0, target.path);
  std::vector<std::byte> found(bytes.size());
  CHECK(read_up_to(disk.calls_table, target.file.get(), found, 0).size == found.size());
  CHECK(found == bytes);
}

TEST_CASE("the end of the file ends a read") {
  const open_file target;
  const auto bytes = pattern(100);
  write_all(system_io, target.file.get(), bytes, {}, 0, target.path);
  std::vector<std::byte> found(200);
  const read_result result = read_up_to(system_io, target.file.get(), found, 60);
  CHECK(result.size == 40);
  CHECK(result.error == 0);
}

TEST_CASE("a full disk names the file, the reason and the remedy") {
  const faults disk;
  faults::room = 10;
  const open_file target;
  const auto bytes = pattern(100);
  std::string message;
  try {
    write_all(disk.calls_table, target.file.get(), bytes, {}, 0, target.path);
  } catch (const spill_failure& failed) {
    message = failed.what();
  }
  CHECK(message.find(target.path) != std::string::npos);
  CHECK(message.find("No space left on device") != std::string::npos);
  CHECK(message.find("RAY_SPILL_DIR") != std::string::npos);
}

TEST_CASE("a device that takes nothing is an error and no endless loop") {
  const io_calls calls{[](int, const iovec*, int, off_t) -> ssize_t { return 0; }, system_io.read};
  const open_file target;
  CHECK_THROWS_AS(write_all(calls, target.file.get(), pattern(1), {}, 0, target.path),
                  spill_failure);
}

TEST_CASE("the limit of file sizes is an error and not the signal that ends the process") {
  const open_file target;
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
  rlimit low = before;
  low.rlim_cur = 4096;
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &low) == 0);
  const auto bytes = pattern(5'000);
  std::string message;
  try {
    write_all(system_io, target.file.get(), bytes, {}, 0, target.path);
  } catch (const spill_failure& failed) {
    message = failed.what();
  }
  write_all(system_io, target.file.get(), std::span(bytes).first(4096), {}, 0, target.path);
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &before) == 0);
  CHECK(message.find("ulimit -f") != std::string::npos);
}

TEST_CASE("files are not opened through symbolic links") {
  const temporary_directory directory;
  std::filesystem::create_symlink("/etc/passwd", directory.path() / "link");
  CHECK_FALSE(open_at(AT_FDCWD, (directory.path() / "link").c_str(), O_RDONLY).valid());
  CHECK(errno == ELOOP);
}
