// links: TBB::tbb CAF::core
/// How long does a session take to start and to end, and what does it cost while it does nothing?

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>
#include <sys/resource.h>
#include <sys/time.h>

#include <caf/all.hpp>
#include <chrono>
#include <cstdint>
#include <future>
#include <ray/ray.hpp>
#include <thread>
#include <vector>

#include "benchmark.hpp"

namespace {

using benchmark::best_of;
using benchmark::seconds;

int same(int i) { return i; }

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto in_seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return in_seconds(usage.ru_utime) + in_seconds(usage.ru_stime);
}

/// Milliseconds of CPU time that this process uses in a second in which nothing is asked of it.
double idle_cost(bool quick) {
  const std::chrono::milliseconds rest(quick ? 50 : 1000);
  // What has just been busy may spin a little before it parks; that is not idling.
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  const double before = cpu_seconds();
  std::this_thread::sleep_for(rest);
  return (cpu_seconds() - before) * 1e3 / std::chrono::duration<double>(rest).count();
}

int first_of_onetbb(int threads) {
  tbb::task_arena arena(threads + 1);
  std::promise<int> promise;
  arena.enqueue([&promise] { promise.set_value(7); });
  return promise.get_future().get();
}

}  // namespace

int main(int argc, char** argv) {
  const auto run = benchmark::parse(argc, argv, "Starting, ending and idling.");
  const tbb::global_control limit(tbb::global_control::max_allowed_parallelism,
                                  static_cast<std::size_t>(run.threads) + 1);
  caf::actor_system_config config;
  config.set("scheduler.policy", caf::atom("sharing"));  // the faster one here, see README.md
  config.set("scheduler.max-threads", static_cast<std::uint64_t>(run.threads));

  // The very first, with cold caches and nothing loaded.
  double first = 0;
  {
    ray::session session;
    first = seconds([&] { session = ray::init({.num_cpus = run.threads}); });
  }
  const int rounds = run.rounds * 4;
  const auto [init, whole, task, caf_whole, threads, onetbb] = best_of(
      rounds,
      [&] {
        ray::session session;
        return seconds([&] { session = ray::init({.num_cpus = run.threads}); });
      },
      [&] { return seconds([&] { auto session = ray::init({.num_cpus = run.threads}); }); },
      [&] {
        return seconds([&] {
          auto session = ray::init({.num_cpus = run.threads});
          benchmark::require(ray::get(ray::remote(same)(7)) == 7, "first task");
        });
      },
      [&] { return seconds([&] { caf::actor_system system(config); }); },
      [&] {
        return seconds([&] {
          std::vector<std::jthread> all;
          for (int i = 0; i < run.threads; ++i) all.emplace_back([] {});
        });
      },
      [&] {
        return seconds([&] { benchmark::require(first_of_onetbb(run.threads) == 7, "arena"); });
      });

  benchmark::table table("starting and idling", run);
  table.row("init, the first in the process", "us", first * 1e6);
  table.row("init", "us", init * 1e6);
  table.row("init and shutdown", "us", whole * 1e6, "CAF actor_system", caf_whole * 1e6);
  table.row("init and shutdown", "us", whole * 1e6, "as many bare threads", threads * 1e6);
  table.row("init, a task, shutdown", "us", task * 1e6, "oneTBB arena, a task (warm)",
            onetbb * 1e6);

  // One after the other, since all threads of the process count.
  const double nothing = idle_cost(run.quick);
  double ours = 0, theirs = 0;
  {
    auto session = ray::init({.num_cpus = run.threads});
    benchmark::require(ray::get(ray::remote(same)(7)) == 7, "a task before idling");
    ours = idle_cost(run.quick);
  }
  {
    const caf::actor_system system(config);
    theirs = idle_cost(run.quick);
  }
  table.row("CPU time of an idle second", "ms", ours, "no session at all", nothing);
  table.row("CPU time of an idle second", "ms", ours, "CAF actor_system", theirs);
}
