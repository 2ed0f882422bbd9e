// Streams: values as they are made, back-pressure, errors, dropping, retries.
#include "testing.hpp"

#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using programs::gate;
using programs::text_of;

std::atomic<int> made = 0;

ray::generator<int> count_to(int n) {
  for (int i = 0; i < n; ++i) {
    ++made;
    made.notify_all();
    co_yield i;
  }
}

ray::generator<std::string> words(const std::string& text, int n) {
  for (int i = 0; i < n; ++i) co_yield text + std::to_string(i);
  throw std::out_of_range("no more words");
}

void await_made(int n) {
  for (int seen = made; seen < n; seen = made) made.wait(seen);
}

template <typename Value>
std::vector<Value> all_of(ray::stream<Value> one) {
  std::vector<Value> all;
  for (auto& value : one) all.push_back(std::move(value));
  return all;
}

}  // namespace

TEST_CASE("a generator's call returns a stream of its values, in order, each once") {
  auto session = ray::init({.num_cpus = 1});
  auto one = ray::remote(count_to)(1000);
  static_assert(std::is_same_v<decltype(one), ray::stream<int>>);
  static_assert(!std::is_copy_constructible_v<ray::stream<int>>);
  static_assert(std::ranges::input_range<ray::stream<int>>);
  int next = 0;
  for (int value : one) CHECK(value == next++);
  CHECK(next == 1000);
  CHECK(all_of(ray::remote(count_to)(0)).empty());
  auto slowly = ray::remote(count_to)(2);
  CHECK(slowly.next() == 0);
  CHECK(slowly.next() == 1);
  CHECK(slowly.next() == std::nullopt);
  CHECK(slowly.next() == std::nullopt);
}

TEST_CASE("the producer runs ahead by stream_buffer values and not by more") {
  auto session = ray::init({.num_cpus = 1});
  for (const std::size_t buffer : {1, 4}) {
    made = 0;
    auto one = ray::remote(count_to, {.stream_buffer = buffer})(100);
    const int ahead = static_cast<int>(buffer);
    await_made(ahead);
    // The one slot is free while it waits: this would not end otherwise.
    CHECK(ray::remote([] { return 5; })().get() == 5);
    CHECK(made <= ahead + 1);
    for (int i = 0; i < 10; ++i) {
      CHECK(one.next() == i);
      CHECK(made <= i + 1 + ahead + 1);
    }
  }
}

TEST_CASE("the error comes after the last value") {
  auto session = ray::init({.num_cpus = 1});
  auto one = ray::remote(words)("word", 3);
  std::vector<std::string> read;
  CHECK(text_of<std::out_of_range>([&] {
          for (auto& word : one) read.push_back(word);
        }) == "no more words");
  CHECK(read == std::vector<std::string>{"word0", "word1", "word2"});
}

TEST_CASE("a failed argument fails the stream") {
  auto session = ray::init({.num_cpus = 1});
  auto bad = ray::remote([]() -> int { throw std::domain_error("no number"); })();
  auto one = ray::remote(count_to)(bad);
  CHECK_THROWS_AS((void)one.next(), std::domain_error);
}

TEST_CASE("dropping a stream cancels its task") {
  auto session = ray::init({.num_cpus = 1});
  ray::queue<std::string> told(0);
  {
    auto one = ray::remote([](ray::queue<std::string> tell) -> ray::generator<int> {
      try {
        for (int i = 0;; ++i) co_yield i;
      } catch (const ray::cancelled_error& error) {
        tell.put("cancelled");
        throw;
      }
    })(told);
    CHECK(one.next() == 0);
  }
  CHECK(told.get() == "cancelled");
  // One that was never read, and one that replaces another.
  for (int i = 0; i < 100; ++i) (void)ray::remote(count_to)(1000);
  auto replaced = ray::remote(count_to)(1000);
  replaced = ray::remote(count_to)(3);
  CHECK(all_of(std::move(replaced)).size() == 3);
}

TEST_CASE("a generator awaits, and its values may be move-only") {
  auto session = ray::init({.num_cpus = 1});
  auto one = ray::remote([](std::vector<int> numbers) -> ray::generator<std::unique_ptr<int>> {
    for (int n : numbers) {
      const int square = co_await ray::remote([](int x) { return x * x; })(n);
      co_yield std::make_unique<int>(square);
    }
  })(std::vector{1, 2, 3});
  int sum = 0;
  for (auto& value : one) sum += *value;
  CHECK(sum == 14);
}

TEST_CASE("another attempt skips what the reader has") {
  auto session = ray::init({.num_cpus = 1});
  auto one = ray::remote(
      [](int n) -> ray::generator<int> {
        for (int i = 0; i < n; ++i) {
          if (i == 5 && ray::this_task::attempt() == 0) throw std::runtime_error("once");
          if (i == 7 && ray::this_task::attempt() == 1) throw std::runtime_error("twice");
          co_yield i;
        }
      },
      {.retry_exceptions = ray::retry::always})(10);
  CHECK(all_of(std::move(one)) == std::vector{0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
}

TEST_CASE("methods make streams, and are read inside tasks") {
  struct source {
    int base = 100;
    ray::generator<int> values(int n) {
      for (int i = 0; i < n; ++i) co_yield base + i;
    }
    int value() const { return base; }
  };
  auto session = ray::init({.num_cpus = 1});
  auto it = ray::make_actor<source>();
  auto one = it.call(&source::values, 3);
  static_assert(std::is_same_v<decltype(one), ray::stream<int>>);
  CHECK(all_of(std::move(one)) == std::vector{100, 101, 102});
  CHECK(it.call(&source::value).get() == 100);
  auto inside = ray::remote([](const ray::actor<source>& from) {
    int sum = 0;
    for (int value : from.call(&source::values, 50)) sum += value;
    for (int value : ray::remote(count_to, {.stream_buffer = 1})(50)) sum += value;
    return sum;
  });
  CHECK(inside(it).get() == 50 * 100 + 1225 + 1225);
}

TEST_CASE("an empty stream, and one that outlives its session") {
  ray::stream<int> none;
  CHECK_FALSE(none.valid());
  CHECK_THROWS_AS((void)none.next(), ray::usage_error);
  ray::stream<int> left;
  {
    auto session = ray::init({.num_cpus = 1});
    left = ray::remote(count_to)(1'000'000);
    CHECK(left.next() == 0);
  }
  CHECK_THROWS_AS(
      [&] {
        while (left.next()) {
        }
      }(),
      ray::usage_error);
}

TEST_CASE("many streams at once, on one CPU") {
  auto session = ray::init({.num_cpus = 1});
  std::vector<ray::stream<int>> all;
  for (int i = 0; i < 100; ++i) all.push_back(ray::remote(count_to, {.stream_buffer = 2})(100));
  for (int round = 0; round < 100; ++round) {
    for (auto& one : all) CHECK(one.next() == round);
  }
  for (auto& one : all) CHECK(one.next() == std::nullopt);
}
