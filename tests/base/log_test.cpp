#include <ray/log.hpp>

#include <doctest/doctest.h>

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <fstream>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

using ray::log_level;

/// Puts level and sink back, whatever a test does.
struct restore_log {
  ray::log_level level = ray::detail::current_log_level();
  ~restore_log() {
    ray::detail::set_log_sink(nullptr, nullptr);
    ray::detail::set_log_level(level);
  }
};

struct captured {
  std::vector<std::pair<log_level, std::string>> messages;
  static void sink(void* context, log_level level, std::string_view message) {
    static_cast<captured*>(context)->messages.emplace_back(level, message);
  }
};

TEST_CASE("messages below the level are dropped") {
  const restore_log restore;
  captured all;
  ray::detail::set_log_sink(captured::sink, &all);
  CHECK(ray::detail::current_log_level() == log_level::warning);
  ray::log(log_level::info, "not now");
  ray::log(log_level::warning, "one");
  ray::detail::set_log_level(log_level::debug);
  ray::log(log_level::debug, "two");
  ray::log(log_level::off, "no level of a message");
  ray::detail::set_log_level(log_level::off);
  ray::log(log_level::error, "nothing");
  REQUIRE(all.messages.size() == 2);
  CHECK(all.messages[0] == std::pair(log_level::warning, std::string("one")));
  CHECK(all.messages[1] == std::pair(log_level::debug, std::string("two")));
}

TEST_CASE("a sink that throws loses its message and nothing else") {
  const restore_log restore;
  ray::detail::set_log_sink(
      [](void*, log_level, std::string_view) { throw std::runtime_error(""); }, nullptr);
  ray::log(log_level::error, "lost");
}

/// The lines that `write` puts on the standard error stream.
template <typename Function>
std::vector<std::string> standard_error_of(Function write) {
  char path[] = "/tmp/ray-log-test-XXXXXX";
  const int file = ::mkstemp(path);
  REQUIRE(file >= 0);
  std::fflush(stderr);
  const int saved = ::dup(STDERR_FILENO);
  ::dup2(file, STDERR_FILENO);
  write();
  ::dup2(saved, STDERR_FILENO);
  ::close(saved);
  ::close(file);
  std::ifstream in(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  ::unlink(path);
  return lines;
}

TEST_CASE("a message is a line on the standard error stream") {
  const restore_log restore;
  ray::detail::set_log_level(log_level::debug);
  const auto lines = standard_error_of([] {
    ray::log(log_level::debug, "a");
    ray::log(log_level::info, "b");
    ray::log(log_level::warning, "c");
    ray::log(log_level::error, "");
  });
  CHECK(lines ==
        std::vector<std::string>{"ray debug: a", "ray info: b", "ray warning: c", "ray error: "});
}

TEST_CASE("lines of many threads do not mix") {
  const restore_log restore;
  constexpr int threads = 8;
  constexpr int messages = 200;
  const auto lines = standard_error_of([] {
    std::vector<std::jthread> all;
    for (int thread = 0; thread < threads; ++thread) {
      all.emplace_back([thread] {
        for (int i = 0; i < messages; ++i) {
          ray::log(log_level::warning, std::to_string(thread) + ' ' + std::to_string(i) +
                                           std::string(300, static_cast<char>('a' + thread)));
        }
      });
    }
  });
  CHECK(lines.size() == threads * messages);
  std::set<std::string> expected;
  for (int thread = 0; thread < threads; ++thread) {
    for (int i = 0; i < messages; ++i) {
      expected.insert("ray warning: " + std::to_string(thread) + ' ' + std::to_string(i) +
                      std::string(300, static_cast<char>('a' + thread)));
    }
  }
  CHECK(std::set<std::string>(lines.begin(), lines.end()) == expected);
}

TEST_CASE("logging leaves errno alone and survives a closed stream") {
  const restore_log restore;
  const int saved = ::dup(STDERR_FILENO);
  ::close(STDERR_FILENO);
  errno = ENOENT;
  ray::log(log_level::error, "nobody sees this");
  const int error = errno;
  ::dup2(saved, STDERR_FILENO);
  ::close(saved);
  CHECK(error == ENOENT);
}

}  // namespace
