#include "exec/deque.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <thread>
#include <vector>

using ray::detail::exec::deque;
using ray::detail::exec::job;

namespace {

std::vector<job> make_jobs(std::size_t count) {
  return std::vector<job>(count, job([](job*) noexcept {}));
}

}  // namespace

TEST_CASE("the owner takes the newest, a thief the oldest") {
  deque items;
  auto jobs = make_jobs(3);
  for (auto& one : jobs) items.push(&one);
  CHECK(items.steal() == &jobs[0]);
  CHECK(items.pop() == &jobs[2]);
  CHECK(items.pop() == &jobs[1]);
  CHECK(items.pop() == nullptr);
  CHECK(items.steal() == nullptr);
  CHECK(items.empty());
}

TEST_CASE("the newest is known to the owner") {
  deque items;
  auto jobs = make_jobs(2);
  CHECK_FALSE(items.is_newest(&jobs[0]));
  for (auto& one : jobs) items.push(&one);
  CHECK_FALSE(items.is_newest(&jobs[0]));
  CHECK(items.is_newest(&jobs[1]));
  CHECK(items.pop() == &jobs[1]);
  CHECK(items.is_newest(&jobs[0]));
  CHECK(items.steal() == &jobs[0]);
  CHECK_FALSE(items.is_newest(&jobs[0]));
}

TEST_CASE("it grows and keeps the order") {
  deque items;
  auto jobs = make_jobs(5000);
  for (auto& one : jobs) items.push(&one);
  for (std::size_t i = 0; i < 1000; ++i) CHECK(items.steal() == &jobs[i]);
  for (std::size_t i = jobs.size(); i-- > 1000;) CHECK(items.pop() == &jobs[i]);
  CHECK(items.empty());
}

TEST_CASE("owner and thieves take each item once") {
  constexpr std::size_t count = 100'000;
  constexpr int thieves = 3;
  deque items;
  auto jobs = make_jobs(count);
  std::vector<std::atomic<int>> taken(count);
  std::atomic<bool> over{false};
  const auto note = [&](job* one) { taken[static_cast<std::size_t>(one - jobs.data())]++; };
  std::vector<std::thread> threads;
  for (int i = 0; i < thieves; ++i) {
    threads.emplace_back([&] {
      while (!over.load() || !items.empty()) {
        if (job* one = items.steal()) note(one);
      }
    });
  }
  for (std::size_t i = 0; i < count; ++i) {
    items.push(&jobs[i]);
    if (i % 3 == 0) {
      if (job* one = items.pop()) note(one);
    }
  }
  while (job* one = items.pop()) note(one);
  over = true;
  for (auto& one : threads) one.join();
  for (const auto& times : taken) REQUIRE(times.load() == 1);
}
