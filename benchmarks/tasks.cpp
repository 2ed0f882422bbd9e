// links: TBB::tbb
/// What do tasks and futures cost where no tree of tasks hides it: made from outside of the pool
/// and from within, one by one and in bulk, in chains and in fans, waiting by the million?

#include <oneapi/tbb/flow_graph.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <future>
#include <latch>
#include <memory>
#include <numeric>
#include <ray/ray.hpp>
#include <string>
#include <utility>
#include <vector>

#include "benchmark.hpp"

namespace {

using benchmark::best_of;
using benchmark::seconds;
using namespace std::chrono_literals;

void nothing() {}
int same(int i) { return i; }
int next(int i) { return i + 1; }
long sum(const std::vector<int>& values) {
  return std::accumulate(values.begin(), values.end(), 0L);
}

/// What oneTBB runs when a future is wanted; enqueue() calls it as a constant.
struct fulfil {
  mutable std::promise<int> promise;
  int value;
  void operator()() const { promise.set_value(value); }
};

// ---- made from outside of the pool

void measure_one(benchmark::table& table, tbb::task_arena& arena, const benchmark::settings& run) {
  const int count = run.size(20'000), threads = run.size(1'000);
  const auto task = ray::remote(same);
  const auto [ours, pool, theirs, async] = best_of(
      run.rounds,
      [&] {
        return seconds([&] {
          for (int i = 0; i < count; ++i) (void)ray::get(task(i));
        });
      },
      [&] {
        // A get with a timeout never runs the task itself.
        return seconds([&] {
          for (int i = 0; i < count; ++i) (void)ray::get(task(i), 1h);
        });
      },
      [&] {
        return seconds([&] {
          for (int i = 0; i < count; ++i) {
            std::promise<int> promise;
            auto future = promise.get_future();
            arena.enqueue([&promise, i] { promise.set_value(i); });
            future.get();
          }
        });
      },
      [&] {
        return seconds([&] {
          for (int i = 0; i < threads; ++i) std::async(std::launch::async, same, i).get();
        });
      });
  const char* const what = "one task, submitted and got";
  table.row(what, "ns", ours / count * 1e9, "oneTBB enqueue, promise", theirs / count * 1e9);
  table.row(what, "ns", ours / count * 1e9, "std::async", async / threads * 1e9);
  table.row("one task, when a pool thread must run it", "ns", pool / count * 1e9,
            "oneTBB enqueue, promise", theirs / count * 1e9);
}

void measure_futures(benchmark::table& table, tbb::task_arena& arena,
                     const benchmark::settings& run) {
  const int count = run.size(1'000'000), threads = run.size(5'000);
  const long right = static_cast<long>(count) * (count - 1) / 2;
  const auto task = ray::remote(same);
  const auto [ours, theirs, async] = best_of(
      run.rounds,
      [&] {
        return seconds([&] {
          std::vector<ray::future<int>> futures;
          futures.reserve(static_cast<std::size_t>(count));
          for (int i = 0; i < count; ++i) futures.push_back(task(i));
          long total = 0;
          for (auto& future : futures) total += ray::get(std::move(future));
          benchmark::require(total == right, "futures");
        });
      },
      [&] {
        return seconds([&] {
          std::vector<std::future<int>> futures;
          futures.reserve(static_cast<std::size_t>(count));
          for (int i = 0; i < count; ++i) {
            std::promise<int> promise;
            futures.push_back(promise.get_future());
            arena.enqueue(fulfil{std::move(promise), i});
          }
          long total = 0;
          for (auto& future : futures) total += future.get();
          benchmark::require(total == right, "promises");
        });
      },
      [&] {
        return seconds([&] {
          std::vector<std::future<int>> futures;
          for (int i = 0; i < threads; ++i) {
            futures.push_back(std::async(std::launch::async, same, i));
          }
          for (auto& future : futures) future.get();
        });
      });
  const std::string what = std::to_string(count) + " futures made, then got";
  table.row(what, "ns each", ours / count * 1e9, "oneTBB enqueue, promise", theirs / count * 1e9);
  table.row(what, "ns each", ours / count * 1e9, "std::async, 5000 of them", async / threads * 1e9);
}

void measure_bulk(benchmark::table& table, tbb::task_arena& arena, const benchmark::settings& run) {
  const int count = run.size(1'000'000);
  const auto task = ray::remote(nothing);
  const auto [ours, theirs] = best_of(
      run.rounds,
      [&] {
        return seconds([&] {
          std::vector<ray::future<void>> futures;
          futures.reserve(static_cast<std::size_t>(count));
          for (int i = 0; i < count; ++i) futures.push_back(task());
          ray::get(std::move(futures));
        });
      },
      [&] {
        return seconds([&] {
          arena.execute([&] {
            tbb::task_group group;
            for (int i = 0; i < count; ++i) group.run(nothing);
            group.wait();
          });
        });
      });
  table.row("empty tasks in bulk, from outside", "ns each", ours / count * 1e9, "oneTBB task_group",
            theirs / count * 1e9);
}

// ---- made from within the pool

double one_by_one_inside(int count) {
  const auto task = ray::remote(nothing);
  return seconds([&] {
    for (int i = 0; i < count; ++i) task().get();
  });
}

double bulk_inside(int count) {
  const auto task = ray::remote(nothing);
  return seconds([&] {
    std::vector<ray::future<void>> futures;
    futures.reserve(static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i) futures.push_back(task());
    ray::get(std::move(futures));
  });
}

void measure_inside(benchmark::table& table, tbb::task_arena& arena,
                    const benchmark::settings& run) {
  const int count = run.size(1'000'000);
  const auto [ours_one, theirs_one, ours_bulk, theirs_bulk] = best_of(
      run.rounds, [&] { return ray::get(ray::remote(one_by_one_inside)(count)); },
      [&] {
        return arena.execute([&] {
          return seconds([&] {
            for (int i = 0; i < count; ++i) {
              tbb::task_group group;
              group.run(nothing);
              group.wait();
            }
          });
        });
      },
      [&] { return ray::get(ray::remote(bulk_inside)(count)); },
      [&] {
        return arena.execute([&] {
          return seconds([&] {
            tbb::task_group group;
            for (int i = 0; i < count; ++i) group.run(nothing);
            group.wait();
          });
        });
      });
  table.row("empty tasks one by one, from within a task", "ns each", ours_one / count * 1e9,
            "oneTBB task_group", theirs_one / count * 1e9);
  table.row("empty tasks in bulk, from within a task", "ns each", ours_bulk / count * 1e9,
            "oneTBB task_group", theirs_bulk / count * 1e9);
}

// ---- dependencies

void measure_fan(benchmark::table& table, tbb::task_arena& arena, const benchmark::settings& run) {
  const int count = run.size(10'000), repeats = run.size(20, 20);
  const long right = static_cast<long>(count) * (count - 1) / 2 * repeats;
  const auto task = ray::remote(same);
  const auto total = ray::remote(sum);
  const auto [ours, theirs] = best_of(
      run.rounds,
      [&] {
        long result = 0;
        const double time = seconds([&] {
          for (int repeat = 0; repeat < repeats; ++repeat) {
            std::vector<ray::future<int>> futures;
            for (int i = 0; i < count; ++i) futures.push_back(task(i));
            result += ray::get(total(ray::when_all(futures)));
          }
        });
        benchmark::require(result == right, "fan");
        return time;
      },
      [&] {
        long result = 0;
        const double time = seconds([&] {
          arena.execute([&] {
            for (int repeat = 0; repeat < repeats; ++repeat) {
              std::vector<int> values(static_cast<std::size_t>(count));
              tbb::task_group group;
              for (int i = 0; i < count; ++i) {
                group.run([&value = values[static_cast<std::size_t>(i)], i] { value = i; });
              }
              group.wait();
              result += sum(values);
            }
          });
        });
        benchmark::require(result == right, "fan of oneTBB");
        return time;
      });
  const double tasks = static_cast<double>(count) * repeats;
  table.row("fan-out of 10000 and fan-in to one task", "ns a task", ours / tasks * 1e9,
            "oneTBB task_group", theirs / tasks * 1e9);
}

void measure_chain(benchmark::table& table, tbb::task_arena& arena,
                   const benchmark::settings& run) {
  const int count = run.size(100'000);
  const auto task = ray::remote(next);
  const auto [ours, theirs] = best_of(
      run.rounds,
      [&] {
        return seconds([&] {
          auto last = task(0);
          for (int i = 1; i < count; ++i) last = task(std::move(last));
          benchmark::require(ray::get(last) == count, "chain");
        });
      },
      [&] {
        return seconds([&] {
          arena.execute([&] {
            tbb::flow::graph graph;
            using node = tbb::flow::continue_node<tbb::flow::continue_msg>;
            int value = 0;
            std::vector<std::unique_ptr<node>> nodes;
            for (int i = 0; i < count; ++i) {
              nodes.push_back(
                  std::make_unique<node>(graph, [&](tbb::flow::continue_msg) { ++value; }));
              if (i > 0) tbb::flow::make_edge(*nodes[nodes.size() - 2], *nodes.back());
            }
            nodes.front()->try_put({});
            graph.wait_for_all();
            benchmark::require(value == count, "chain of oneTBB");
          });
        });
      });
  table.row("a chain of 100000 dependent tasks", "ns each", ours / count * 1e9,
            "oneTBB flow graph, built and run", theirs / count * 1e9);
}

// ---- many at once. The limits that Ray publishes: 10000 arguments, 3000 results, 10000 objects.

std::vector<ray::future<int>> many_objects(int count) {
  std::vector<ray::future<int>> result;
  for (int i = 0; i < count; ++i) result.push_back(ray::put(i));
  return result;
}

ray::generator<int> many_items(int count) {
  for (int i = 0; i < count; ++i) co_yield i;
}

long sum_of_futures(const std::vector<ray::future<int>>& futures) {
  long total = 0;
  for (const auto value : ray::get(futures)) total += value;
  return total;
}

void measure_many(benchmark::table& table, const benchmark::settings& run) {
  const auto repeated = [&](auto&& function) {
    const auto [time] = best_of(run.rounds, [&] { return seconds(function); });
    return time * 1e6;
  };
  constexpr long right = 10'000L * 9'999 / 2;
  table.row("10000 futures as arguments of one task", "us", repeated([] {
              std::vector<ray::future<int>> futures;
              for (int i = 0; i < 10'000; ++i) futures.push_back(ray::put(i));
              const long got = ray::get(ray::remote(sum_of_futures)(std::move(futures)));
              benchmark::require(got == right, "arguments");
            }));
  table.row("3000 results of one task, as objects", "us", repeated([] {
              const auto objects = ray::get(ray::remote(many_objects)(3'000));
              benchmark::require(ray::get(objects).size() == 3'000, "results");
            }));
  table.row("3000 results of one task, as a stream", "us", repeated([] {
              int count = 0;
              for (const int item : ray::remote(many_items)(3'000)) count += item >= 0;
              benchmark::require(count == 3'000, "stream");
            }));
  std::vector<ray::future<int>> objects;
  for (int i = 0; i < 10'000; ++i) objects.push_back(ray::put(i));
  table.row("get of 10000 objects", "us",
            repeated([&] { benchmark::require(ray::get(objects).size() == 10'000, "objects"); }));
}

// ---- a million that wait

struct queued {
  double bytes = 0, submit = 0, drain = 0;  // each; nanoseconds
};

double resident_bytes() {
  long total = 0, resident = 0;
  if (std::FILE* const file = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(file, "%ld %ld", &total, &resident) != 2) resident = 0;
    std::fclose(file);
  }
  return static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE));
}

/// The latch that keeps every thread of the pool busy while tasks queue up behind it. It blocks the
/// threads behind the scheduler's back.
struct gate {
  std::latch all_in, open{1};
  explicit gate(int threads) : all_in(threads) {}
  void pass() {
    all_in.count_down();
    open.wait();
  }
};
gate* the_gate = nullptr;
void pass_gate() { the_gate->pass(); }

queued queue_ours(int threads, int count) {
  auto session = ray::init({.num_cpus = threads});
  // Static, since a thread may still be on its way out of the latch when this function ends.
  static gate gate(threads);
  the_gate = &gate;
  std::vector<ray::future<void>> blockers;
  for (int i = 0; i < threads; ++i) blockers.push_back(ray::remote(pass_gate)());
  gate.all_in.wait();
  const auto task = ray::remote(same);
  std::vector<ray::future<int>> futures(static_cast<std::size_t>(count));
  queued result;
  const double before = resident_bytes();
  result.submit = seconds([&] {
    for (int i = 0; i < count; ++i) futures[static_cast<std::size_t>(i)] = task(i);
  });
  result.bytes = resident_bytes() - before;
  result.drain = seconds([&] {
    gate.open.count_down();
    // From the end, so that this thread sleeps until the pool has done them all.
    for (auto it = futures.rbegin(); it != futures.rend(); ++it) it->wait_for(1h);
  });
  return result;
}

queued queue_theirs(int threads, int count) {
  // One slot is reserved for this thread, which queues and does not run: hence one more.
  const tbb::global_control limit(tbb::global_control::max_allowed_parallelism,
                                  static_cast<std::size_t>(threads) + 1);
  tbb::task_arena arena(threads + 1);
  static gate gate(threads);
  for (int i = 0; i < threads; ++i) arena.enqueue([] { gate.pass(); });
  gate.all_in.wait();
  std::vector<std::future<int>> futures(static_cast<std::size_t>(count));
  queued result;
  const double before = resident_bytes();
  result.submit = seconds([&] {
    for (int i = 0; i < count; ++i) {
      std::promise<int> promise;
      futures[static_cast<std::size_t>(i)] = promise.get_future();
      arena.enqueue(fulfil{std::move(promise), i});
    }
  });
  result.bytes = resident_bytes() - before;
  result.drain = seconds([&] {
    gate.open.count_down();
    for (auto it = futures.rbegin(); it != futures.rend(); ++it) it->wait();
  });
  return result;
}

/// Runs `function` in a process of its own, whose memory nobody has used before. To be called
/// before this process has threads.
template <typename Function>
queued in_fresh_process(Function function) {
  int ends[2];
  queued result;
  if (pipe(ends) != 0) return result;
  const pid_t child = fork();
  if (child == 0) {
    result = function();
    const bool written = write(ends[1], &result, sizeof(result)) == sizeof(result);
    _exit(written ? 0 : 1);
  }
  close(ends[1]);
  const bool read_all = read(ends[0], &result, sizeof(result)) == sizeof(result);
  close(ends[0]);
  waitpid(child, nullptr, 0);
  benchmark::require(read_all, "a million tasks that wait");
  return result;
}

void measure_queued(benchmark::table& table, const benchmark::settings& run) {
  const int count = run.size(1'000'000);
  queued ours{1e300, 1e300, 1e300}, theirs = ours;
  const auto keep_best = [](queued& best, const queued& next) {
    best = {std::min(best.bytes, next.bytes), std::min(best.submit, next.submit),
            std::min(best.drain, next.drain)};
  };
  for (int round = 0; round < run.rounds; ++round) {
    keep_best(ours, in_fresh_process([&] { return queue_ours(run.threads, count); }));
    keep_best(theirs, in_fresh_process([&] { return queue_theirs(run.threads, count); }));
  }
  const char* const peer = "oneTBB enqueue, promise";
  const std::string what = std::to_string(count) + " tasks queued";
  table.row(what + ": memory", "bytes each", ours.bytes / count, peer, theirs.bytes / count);
  table.row(what + ": submit", "ns each", ours.submit / count * 1e9, peer,
            theirs.submit / count * 1e9);
  table.row(what + ": drain", "ns each", ours.drain / count * 1e9, peer,
            theirs.drain / count * 1e9);
}

}  // namespace

int main(int argc, char** argv) {
  const auto run = benchmark::parse(argc, argv, "Tasks and futures, singly and in numbers.");
  benchmark::table table("tasks", run);
  measure_queued(table, run);  // first: it forks, which needs a process without threads

  const tbb::global_control limit(tbb::global_control::max_allowed_parallelism,
                                  static_cast<std::size_t>(run.threads) + 1);
  // From outside one thread submits and waits; the tasks run on others. From within, the thread
  // that calls execute() is one of the arena's.
  tbb::task_arena outside(run.threads + 1, 1), inside(run.threads);
  auto session = ray::init({.num_cpus = run.threads});
  measure_one(table, outside, run);
  measure_futures(table, outside, run);
  measure_bulk(table, inside, run);
  measure_inside(table, inside, run);
  measure_fan(table, inside, run);
  measure_chain(table, inside, run);
  measure_many(table, run);
}
