#include "system/text_file.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

using ray::detail::system::read_text_file;

TEST_CASE("small files are read whole, whatever size they claim") {
  std::error_code error;
  CHECK(read_text_file("/proc/self/stat", error).size() > 10);
  CHECK_FALSE(error);
  CHECK(read_text_file("/no/such/file", error).empty());
  CHECK(error == std::errc::no_such_file_or_directory);
  CHECK(read_text_file("/tmp", error).empty());
  CHECK(error == std::errc::is_a_directory);
  CHECK(read_text_file("/dev/zero", error).empty());
  CHECK(error);
}

TEST_CASE("long files, pipes and empty files") {
  std::string name = (std::filesystem::temp_directory_path() / "text-test-XXXXXX").string();
  REQUIRE(::mkdtemp(name.data()) != nullptr);
  const std::filesystem::path folder = name;
  std::error_code error = std::make_error_code(std::errc::io_error);

  std::ofstream(folder / "empty").close();
  CHECK(read_text_file(folder / "empty", error).empty());
  CHECK_FALSE(error);

  std::string text(100'000, 'a');
  text.back() = 'z';
  std::ofstream(folder / "long") << text;
  CHECK(read_text_file(folder / "long", error) == text);
  CHECK_FALSE(error);

  std::filesystem::resize_file(folder / "long", (std::uintmax_t{16} << 20) + 1);
  CHECK(read_text_file(folder / "long", error).empty());
  CHECK(error == std::errc::file_too_large);

  // Nobody will ever write to it; the reader must not wait for that.
  REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
  CHECK(read_text_file(folder / "pipe", error).empty());
  CHECK(error);
  std::filesystem::remove_all(folder);
}
