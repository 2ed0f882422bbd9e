// The pool seen from outside: depth, width, blocking, fairness, and what threads are not.
#include "testing.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <fstream>
#include <latch>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace std::chrono_literals;
using programs::gate;

int plus_one(int x) { return x + 1; }

int depth_by_get(int left) {
  if (left == 0) return 0;
  return 1 + ray::remote(depth_by_get)(left - 1).get();
}

ray::future<int> depth_by_future(int left) {
  if (left == 0) return ray::put(0);
  return ray::remote(depth_by_future)(left - 1);
}

int threads_of_process() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("Threads:")) return std::stoi(line.substr(8));
  }
  return 0;
}

/// A meeting by locks that ray knows nothing of.
struct own_meeting {
  std::mutex mutex;
  std::condition_variable all_here;
  int here = 0;
  void meet(int count) {
    std::unique_lock lock(mutex);
    if (++here == count) all_here.notify_all();
    all_here.wait(lock, [&] { return here >= count; });
  }
};

}  // namespace

TEST_CASE("a chain of 100,000 dependent tasks, built before it runs and while it runs") {
  auto session = ray::init({.num_cpus = 2});
  auto run = ray::remote(plus_one);
  {
    const gate at;
    auto first = ray::remote([](const gate& where) {
      where.pass();
      return 0;
    })(at);
    at.await();
    auto last = first;
    for (int i = 0; i < 100'000; ++i) last = run(last);
    at.open();
    CHECK(last.get() == 100'000);
  }
  {
    ray::future<int> last = ray::put(0);
    for (int i = 0; i < 100'000; ++i) last = run(std::move(last));
    CHECK(last.get() == 100'000);
  }
  {
    // Thrown away unread, links and all.
    ray::future<int> last = ray::put(0);
    for (int i = 0; i < 100'000; ++i) last = run(last);
  }
  CHECK(threads_of_process() < 100);
}

TEST_CASE("an error passes down a chain of 100,000") {
  auto session = ray::init({.num_cpus = 2});
  auto run = ray::remote(plus_one);
  auto last = ray::remote([]() -> int { throw std::domain_error("at the start"); })();
  for (int i = 0; i < 100'000; ++i) last = run(last);
  CHECK_THROWS_AS(last.get(), std::domain_error);
}

TEST_CASE("a recursion 10,000 deep, by get and by returned futures") {
  for (const int cpus : {1, 2}) {
    auto session = ray::init({.num_cpus = cpus});
    CHECK(ray::remote(depth_by_get)(10'000).get() == 10'000);
    CHECK(threads_of_process() < 1000);
    CHECK(ray::remote(depth_by_future)(10'000).get() == 0);
  }
}

TEST_CASE("wide fan-out and fan-in") {
  auto session = ray::init({.num_cpus = 2});
  auto run = ray::remote(plus_one);
  std::vector<ray::future<int>> all;
  for (int i = 0; i < 100'000; ++i) all.push_back(run(i));
  auto sum = ray::when_all(all).then([](const std::vector<int>& values) {
    long total = 0;
    for (int one : values) total += one;
    return total;
  });
  CHECK(sum.get() == 5'000'050'000);
  CHECK(ray::get(std::move(all)).back() == 100'000);
}

TEST_CASE("get inside a task gives the slot back: on one CPU everything moves on") {
  auto session = ray::init({.num_cpus = 1});
  // Each waits for what is not begun, and for what runs elsewhere.
  auto outer = ray::remote([](int width) {
    std::vector<ray::future<int>> all;
    for (int i = 0; i < width; ++i) {
      all.push_back(ray::remote([](int n) { return ray::remote(plus_one)(n).get(); })(i));
    }
    int sum = 0;
    for (auto& one : ray::as_completed(all)) sum += one.get();
    return sum;
  });
  CHECK(outer(1000).get() == 500'500);

  ray::queue<int> one_way(0);
  ray::queue<int> back(0);
  auto asks = ray::remote([](const ray::queue<int>& to, const ray::queue<int>& from) {
    int sum = 0;
    for (int i = 0; i < 100; ++i) {
      to.put(i);
      sum += from.get();
    }
    return sum;
  })(one_way, back);
  auto answers = ray::remote([](const ray::queue<int>& from, const ray::queue<int>& to) {
    for (int i = 0; i < 100; ++i) to.put(from.get() + 1);
  })(one_way, back);
  CHECK(asks.get() == 5050);
  answers.get();
}

TEST_CASE("waits of every kind give the slot back") {
  auto session = ray::init({.num_cpus = 1});
  auto waits = ray::remote([](int kind) {
    const gate at;
    auto late = ray::remote([](const gate& where) {
      where.pass();
      return 5;
    })(at);
    at.await();
    auto opener = ray::remote([](const gate& where) { where.open(); })(at);
    switch (kind) {
      case 0:
        late.wait();
        break;
      case 1:
        CHECK(late.wait_for(60s));
        break;
      case 2:
        CHECK(ray::wait(std::vector{late}).ready.size() == 1);
        break;
      case 3:
        CHECK(ray::get(late, 60s) == 5);
        break;
      case 4:
        CHECK(*late.view() == 5);
        break;
      case 5:
        CHECK(ray::get(std::vector{late, late})[1] == 5);
        break;
      case 6:
        for (auto& one : ray::as_completed(std::vector{late})) CHECK(one.ready());
        break;
      default:
        break;
    }
    return late.get();
  });
  for (int kind = 0; kind < 8; ++kind) CHECK(waits(kind).get() == 5);
}

TEST_CASE("max_concurrency = 8 means eight at once on one CPU, asleep on locks of their own too") {
  static own_meeting meeting;
  struct service {
    void serve() { meeting.meet(8); }
  };
  auto session = ray::init({.num_cpus = 1});
  auto one = ray::make_actor<service>({.max_concurrency = 8});
  std::vector<ray::future<void>> calls;
  for (int i = 0; i < 8; ++i) calls.push_back(one.call(&service::serve));
  ray::get(calls);
  CHECK(meeting.here == 8);
}

TEST_CASE("an actor that sleeps keeps nothing else from running") {
  static std::latch release(1);
  struct sleeper {
    void sleep(const ray::queue<int>& come) {
      come.put(1);
      release.wait();
    }
  };
  auto session = ray::init({.num_cpus = 1});
  ray::queue<int> here(0);
  std::vector<ray::actor<sleeper>> actors;
  std::vector<ray::future<void>> calls;
  for (int i = 0; i < 20; ++i) {
    actors.push_back(ray::make_actor<sleeper>());
    calls.push_back(actors.back().call(&sleeper::sleep, here));
  }
  for (int i = 0; i < 20; ++i) here.get();
  std::vector<ray::future<int>> tasks;
  for (int i = 0; i < 1000; ++i) tasks.push_back(ray::remote(plus_one)(i));
  for (auto& one : tasks) CHECK(one.wait_for(60s));
  auto free_task = ray::remote(plus_one, {.num_cpus = 0})(1);
  CHECK(free_task.wait_for(60s));
  release.count_down();
  ray::get(calls);
}

TEST_CASE("tasks without a CPU slot meet on locks of their own") {
  static own_meeting meeting;
  auto session = ray::init({.num_cpus = 1});
  auto meets = ray::remote([] { meeting.meet(16); }, {.num_cpus = 0});
  std::vector<ray::future<void>> all;
  for (int i = 0; i < 16; ++i) all.push_back(meets());
  ray::get(all);
  CHECK(meeting.here == 16);
}

TEST_CASE("a wide task is not starved by narrow ones, and runs alone") {
  auto session = ray::init({.num_cpus = 2});
  static std::atomic<bool> stop;
  static std::atomic<int> narrow_running;
  stop = false;
  narrow_running = 0;
  struct narrow {
    // Always two more are waiting while the wide one wants both slots.
    static void run() {
      ++narrow_running;
      if (!stop) (void)ray::remote(run, {.num_cpus = 0.9})();
      --narrow_running;
    }
  };
  for (int i = 0; i < 8; ++i) (void)ray::remote(narrow::run, {.num_cpus = 0.9})();
  auto wide = ray::remote([] { return narrow_running.load(); }, {.num_cpus = 2});
  for (int i = 0; i < 20; ++i) CHECK(wide().get() == 0);
  stop = true;
}

TEST_CASE("more outside threads than CPUs submit and wait at once") {
  auto session = ray::init({.num_cpus = 2});
  std::atomic<long> sum = 0;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 16; ++t) {
      threads.emplace_back([&] {
        std::vector<ray::future<int>> all;
        for (int i = 0; i < 1000; ++i) all.push_back(ray::remote(plus_one)(i));
        for (int one : ray::get(all)) sum += one;
      });
    }
  }
  CHECK(sum == 16 * 500'500);
}

TEST_CASE("sessions come and go, whatever is under way") {
  for (int round = 0; round < 200; ++round) {
    auto session = ray::init({.num_cpus = 2});
    for (int i = 0; i < round % 50; ++i) {
      (void)ray::remote([](int n) { return ray::remote(plus_one)(n).get(); })(i);
    }
  }
  CHECK_FALSE(ray::is_initialized());
}
