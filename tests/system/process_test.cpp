#include "system/process.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

using namespace ray::detail::system;

TEST_CASE("the second number of statm") {
  CHECK(parse_resident_pages("5000 1234 300 1 0 900 0\n") == 1234);
  CHECK(parse_resident_pages("5000 7") == 7);
  for (const char* none : {"", "5000", "5000 ", "5000 x", " "}) {
    CAPTURE(std::string(none));
    CHECK_FALSE(parse_resident_pages(none));
  }
}

TEST_CASE("resident memory grows with what is touched") {
  const auto before = process_resident_bytes();
  REQUIRE(before > 0);
  constexpr std::size_t size = std::size_t{64} << 20;
  const std::vector<char> touched(size, 'x');
  CHECK(process_resident_bytes() >= before + size / 2);
  CHECK(touched[size / 2] == 'x');
}

TEST_CASE("the executable is a file") {
  const auto path = executable_path();
  CHECK(path.is_absolute());
  CHECK(std::filesystem::is_regular_file(path));
}

TEST_CASE("the mark of a deleted executable is cut off, a name that ends so is kept") {
  CHECK(without_deleted_mark("/no/such/program (deleted)") == "/no/such/program");
  CHECK(without_deleted_mark("/no/such/program") == "/no/such/program");
  std::string name = (std::filesystem::temp_directory_path() / "process-test-XXXXXX").string();
  REQUIRE(::mkdtemp(name.data()) != nullptr);
  const std::string odd = name + "/program (deleted)";
  std::ofstream(odd) << "x";
  CHECK(without_deleted_mark(odd) == odd);
  std::filesystem::remove_all(name);
}

TEST_CASE("a thread's name is its own, and cut off at 15 bytes") {
  const auto outside = thread_name();
  std::string named, cut, unnamed;
  std::thread([&] {
    set_thread_name("ray pool 3");
    named = thread_name();
    set_thread_name("a name that is far too long for the kernel");
    cut = thread_name();
    set_thread_name("");
    unnamed = thread_name();
  }).join();
  CHECK(named == "ray pool 3");
  CHECK(cut == "a name that is ");
  CHECK(unnamed.empty());
  CHECK(thread_name() == outside);
}
