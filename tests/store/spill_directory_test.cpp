// The directory of a process: private, locked while it lives, removed by itself or by the next.
#include "store/spill_directory.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/wait.h>

#include <fstream>
#include <optional>

#include <doctest/doctest.h>

#include "store_testing.hpp"

using namespace store_testing;

namespace {

namespace fs = std::filesystem;

fs::path users(const fs::path& parent) {
  return parent / ("ray-spill-" + std::to_string(::geteuid()));
}

std::size_t entries_in(const fs::path& directory) {
  if (!fs::exists(directory)) return 0;
  return static_cast<std::size_t>(
      std::distance(fs::directory_iterator(directory), fs::directory_iterator{}));
}

void put_file(const fs::path& path) { std::ofstream(path) << "spilled"; }

/// As a process leaves it that was killed.
fs::path make_leftover(const fs::path& parent, const std::string& name) {
  const fs::path left = users(parent) / name;
  fs::create_directories(left);
  fs::permissions(users(parent), fs::perms::owner_all);
  put_file(left / "lock");
  put_file(left / "1");
  put_file(left / "2");
  return left;
}

}  // namespace

TEST_CASE("the directory is private, comes when it is needed and goes with its owner") {
  const temporary_directory parent;
  {
    spill_directory directory(parent.path() / "not" / "yet");
    CHECK_FALSE(directory.exists());
    CHECK(entries_in(parent.path()) == 0);
    directory.create();
    REQUIRE(directory.exists());
    const fs::path path = directory.path_of("1");
    CHECK(path.parent_path().parent_path() == users(parent.path() / "not" / "yet"));
    put_file(path);
    CHECK(fs::status(path.parent_path()).permissions() == fs::perms::owner_all);
    CHECK(fs::status(users(parent.path() / "not" / "yet")).permissions() == fs::perms::owner_all);
    const std::string before = directory.path_of("x");
    directory.create();
    CHECK(directory.path_of("x") == before);
  }
  CHECK(entries_in(users(parent.path() / "not" / "yet")) == 0);
}

TEST_CASE("what the dead have left is removed, and nothing else") {
  const temporary_directory parent;
  const fs::path dead = make_leftover(parent.path(), "4711-00ff00ff00ff00ff");
  const fs::path half_removed = users(parent.path()) / "4712-abc";
  fs::create_directories(half_removed);
  const fs::path foreign = make_leftover(parent.path(), "notes");
  const fs::path nested = make_leftover(parent.path(), "4713-abc");
  fs::create_directories(nested / "precious");

  spill_directory living(parent.path());
  living.create();
  put_file(living.path_of("1"));
  const spill_directory newcomer(parent.path());
  newcomer.remove_leftovers();
  living.remove_leftovers();

  CHECK_FALSE(fs::exists(dead));
  CHECK_FALSE(fs::exists(half_removed));
  CHECK(fs::exists(foreign / "1"));
  CHECK(fs::exists(nested / "precious"));
  CHECK(fs::exists(living.path_of("1")));
}

TEST_CASE("a directory belongs to the living while its lock is held by another process") {
  const temporary_directory parent;
  int ready[2];
  REQUIRE(::pipe(ready) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    spill_directory theirs(parent.path());
    theirs.create();
    const std::string path = theirs.path_of("1");
    ::close(::open(path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    [[maybe_unused]] const ssize_t sent = ::write(ready[1], path.c_str(), path.size());
    for (;;) ::pause();
  }
  REQUIRE(child > 0);
  char text[4096];
  const ssize_t size = ::read(ready[0], text, sizeof text);
  REQUIRE(size > 0);
  const fs::path theirs(std::string(text, static_cast<std::size_t>(size)));

  const spill_directory ours(parent.path());
  ours.remove_leftovers();
  CHECK(fs::exists(theirs));

  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  CHECK(fs::exists(theirs));
  ours.remove_leftovers();
  CHECK_FALSE(fs::exists(theirs.parent_path()));
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST_CASE("symbolic links are neither followed nor trusted") {
  const temporary_directory parent;
  const temporary_directory elsewhere;
  put_file(elsewhere.path() / "precious");
  SUBCASE("in place of a process's directory") {
    fs::create_directories(users(parent.path()));
    fs::create_directory_symlink(elsewhere.path(), users(parent.path()) / "4711-abc");
    spill_directory(parent.path()).remove_leftovers();
  }
  SUBCASE("in place of a spill file") {
    const fs::path left = make_leftover(parent.path(), "4711-abc");
    fs::create_symlink(elsewhere.path() / "precious", left / "3");
    spill_directory(parent.path()).remove_leftovers();
    CHECK_FALSE(fs::exists(left));
  }
  SUBCASE("in place of the user's directory") {
    fs::create_directory_symlink(elsewhere.path(), users(parent.path()));
    spill_directory directory(parent.path());
    directory.remove_leftovers();
    CHECK_THROWS_AS(directory.create(), spill_failure);
  }
  CHECK(fs::exists(elsewhere.path() / "precious"));
}

TEST_CASE("a directory that others may enter is closed, and another user's is refused") {
  const temporary_directory parent;
  fs::create_directories(users(parent.path()));
  fs::permissions(users(parent.path()), fs::perms::all);
  SUBCASE("ours") {
    spill_directory directory(parent.path());
    directory.create();
    CHECK(fs::status(users(parent.path())).permissions() == fs::perms::owner_all);
  }
  SUBCASE("another user's") {
    if (::geteuid() != 0) return;  // only root can give it away
    REQUIRE(::chown(users(parent.path()).c_str(), 12345, 12345) == 0);
    spill_directory directory(parent.path());
    std::string message;
    try {
      directory.create();
    } catch (const spill_failure& failed) {
      message = failed.what();
    }
    CHECK(message.find("belongs to another user") != std::string::npos);
  }
}

TEST_CASE("a place where no directory can be made is named") {
  const temporary_directory parent;
  put_file(parent.path() / "file");
  spill_directory directory(parent.path() / "file");
  std::string message;
  try {
    directory.create();
  } catch (const spill_failure& failed) {
    message = failed.what();
  }
  CHECK(message.find((parent.path() / "file").string()) != std::string::npos);
  CHECK(message.find("RAY_SPILL_DIR") != std::string::npos);
  directory.remove_leftovers();
}

TEST_CASE("many begin and clean up at once, and each keeps its own") {
  const temporary_directory parent;
  std::vector<std::thread> threads;
  std::atomic<int> lost{0};
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&] {
      for (int round = 0; round < 50; ++round) {
        spill_directory mine(parent.path());
        mine.create();
        mine.remove_leftovers();
        put_file(mine.path_of("1"));
        if (!fs::exists(mine.path_of("1"))) ++lost;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(lost == 0);
  CHECK(entries_in(users(parent.path())) == 0);
}
