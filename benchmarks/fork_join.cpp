// links: TBB::tbb
/// What does it cost to start a task and wait for it, from within tasks?
///
/// Three trees of tasks: Fibonacci's, where nothing but starting and waiting happens; skynet, ten
/// children a node; and the T1 and T3 trees of the unbalanced tree search suite.

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_invoke.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>

#include <array>
#include <cstdint>
#include <future>
#include <ray/ray.hpp>
#include <string>
#include <vector>

#include "benchmark.hpp"
#include "uts.hpp"

namespace {

using benchmark::seconds;
namespace uts = benchmark::uts;

// ---- Fibonacci

long fib_alone(int n) { return n < 2 ? n : fib_alone(n - 1) + fib_alone(n - 2); }

long fib(int n) {
  if (n < 2) return n;
  auto a = ray::remote(fib)(n - 1);
  const long b = fib(n - 2);
  return a.get() + b;
}

long fib_task_group(int n) {
  if (n < 2) return n;
  long a = 0;
  tbb::task_group group;
  group.run([&a, n] { a = fib_task_group(n - 1); });
  const long b = fib_task_group(n - 2);
  group.wait();
  return a + b;
}

long fib_parallel_invoke(int n) {
  if (n < 2) return n;
  long a = 0, b = 0;
  tbb::parallel_invoke([&a, n] { a = fib_parallel_invoke(n - 1); },
                       [&b, n] { b = fib_parallel_invoke(n - 2); });
  return a + b;
}

long fib_async(int n) {
  if (n < 2) return n;
  auto a = std::async(std::launch::async, fib_async, n - 1);
  const long b = fib_async(n - 2);
  return a.get() + b;
}

// ---- skynet: a task has ten children, a leaf is its own number

std::int64_t skynet_alone(std::int64_t first, std::int64_t size) {
  if (size == 1) return first;
  std::int64_t sum = 0;
  for (int i = 0; i < 10; ++i) sum += skynet_alone(first + i * size / 10, size / 10);
  return sum;
}

std::int64_t skynet(std::int64_t first, std::int64_t size) {
  if (size == 1) return first;
  std::array<ray::future<std::int64_t>, 10> parts;
  for (std::size_t i = 0; i < 10; ++i) {
    parts[i] = ray::remote(skynet)(first + static_cast<std::int64_t>(i) * size / 10, size / 10);
  }
  std::int64_t sum = 0;
  for (auto& part : parts) sum += part.get();
  return sum;
}

std::int64_t skynet_task_group(std::int64_t first, std::int64_t size) {
  if (size == 1) return first;
  std::array<std::int64_t, 10> parts;
  tbb::task_group group;
  for (std::size_t i = 0; i < 10; ++i) {
    group.run([&parts, first, size, i] {
      parts[i] = skynet_task_group(first + static_cast<std::int64_t>(i) * size / 10, size / 10);
    });
  }
  group.wait();
  std::int64_t sum = 0;
  for (const auto part : parts) sum += part;
  return sum;
}

// ---- unbalanced tree search: a task a node. The tree is a template argument, as it is a constant
// of each run in the suite.

template <std::size_t Tree>
uts::count search_alone(const uts::node& node) {
  const auto children = uts::children(uts::trees[Tree], node);
  uts::count sum{1, children == 0};
  for (std::int32_t i = 0; i < children; ++i) sum += search_alone<Tree>(uts::child(node, i));
  return sum;
}

template <std::size_t Tree>
uts::count search(const uts::node& node) {
  const auto children = uts::children(uts::trees[Tree], node);
  uts::count sum{1, children == 0};
  if (children == 0) return sum;
  std::vector<ray::future<uts::count>> parts;
  parts.reserve(static_cast<std::size_t>(children));
  for (std::int32_t i = 0; i < children; ++i) {
    parts.push_back(ray::remote(search<Tree>)(uts::child(node, i)));
  }
  for (auto& part : parts) sum += part.get();
  return sum;
}

template <std::size_t Tree>
uts::count search_task_group(const uts::node& node) {
  const auto children = uts::children(uts::trees[Tree], node);
  uts::count sum{1, children == 0};
  if (children == 0) return sum;
  std::vector<uts::count> parts(static_cast<std::size_t>(children));
  tbb::task_group group;
  for (std::int32_t i = 0; i < children; ++i) {
    group.run([&part = parts[static_cast<std::size_t>(i)], next = uts::child(node, i)] {
      part = search_task_group<Tree>(next);
    });
  }
  group.wait();
  for (const auto& part : parts) sum += part;
  return sum;
}

// ---- the runs. Whole trees are started from the main thread, which waits.

void measure_fib(benchmark::table& table, tbb::task_arena& arena, const benchmark::settings& run) {
  const int n = run.quick ? 20 : 35;
  const long right = fib_alone(n);
  const auto check = [&](long result) { benchmark::require(result == right, "fib"); };
  const auto [ours, group, invoke, alone] = benchmark::best_of(
      run.rounds, [&] { return seconds([&] { check(ray::get(ray::remote(fib)(n))); }); },
      [&] { return seconds([&] { arena.execute([&] { check(fib_task_group(n)); }); }); },
      [&] { return seconds([&] { arena.execute([&] { check(fib_parallel_invoke(n)); }); }); },
      [&] { return seconds([&] { check(fib_alone(n)); }); });
  // A fork is a call with n >= 2: one fewer than there are leaves, which are fib(n + 1).
  const double forks = static_cast<double>(fib_alone(n + 1) - 1);
  const std::string name = "fib(" + std::to_string(n) + ")";
  table.row(name, "ns a fork", ours / forks * 1e9, "oneTBB task_group", group / forks * 1e9);
  table.row(name, "ns a fork", ours / forks * 1e9, "oneTBB parallel_invoke", invoke / forks * 1e9);
  table.row(name, "ns a fork", ours / forks * 1e9, "a plain call", alone / forks * 1e9);

  // Every fork of std::async is a thread, so it gets a small tree.
  constexpr int small = 10;
  constexpr double small_forks = 88;
  const auto [small_ours, async] = benchmark::best_of(
      run.rounds, [&] { return seconds([&] { ray::get(ray::remote(fib)(small)); }); },
      [&] { return seconds([&] { fib_async(small); }); });
  table.row("fib(10)", "ns a fork", small_ours / small_forks * 1e9, "std::async",
            async / small_forks * 1e9);
}

void measure_skynet(benchmark::table& table, tbb::task_arena& arena,
                    const benchmark::settings& run) {
  const std::int64_t leaves = run.quick ? 10'000 : 10'000'000;
  const std::int64_t right = leaves * (leaves - 1) / 2;
  const auto check = [&](std::int64_t result) { benchmark::require(result == right, "skynet"); };
  const auto [ours, group, alone] = benchmark::best_of(
      run.rounds, [&] { return seconds([&] { check(ray::get(ray::remote(skynet)(0, leaves))); }); },
      [&] { return seconds([&] { arena.execute([&] { check(skynet_task_group(0, leaves)); }); }); },
      [&] { return seconds([&] { check(skynet_alone(0, leaves)); }); });
  const double tasks = static_cast<double>(leaves) * 10 / 9;
  const std::string name = "skynet, " + std::to_string(leaves) + " leaves";
  table.row(name, "ns a task", ours / tasks * 1e9, "oneTBB task_group", group / tasks * 1e9);
  table.row(name, "ns a task", ours / tasks * 1e9, "a plain call", alone / tasks * 1e9);
}

template <std::size_t Tree>
void measure_uts(benchmark::table& table, tbb::task_arena& arena, const benchmark::settings& run) {
  const auto& tree = uts::trees[Tree];
  const auto root = uts::root(tree);
  const auto check = [&](const uts::count& count) {
    benchmark::require(count.nodes == tree.nodes && count.leaves == tree.leaves, tree.name);
  };
  const auto [ours, group, alone] = benchmark::best_of(
      run.rounds,
      [&] { return seconds([&] { check(ray::get(ray::remote(search<Tree>)(root))); }); },
      [&] {
        return seconds([&] { arena.execute([&] { check(search_task_group<Tree>(root)); }); });
      },
      [&] { return seconds([&] { check(search_alone<Tree>(root)); }); });
  const auto nodes = static_cast<double>(tree.nodes);
  const std::string name = std::string("tree search, ") + tree.name;
  table.row(name, "ns a node", ours / nodes * 1e9, "oneTBB task_group", group / nodes * 1e9);
  table.row(name, "ns a node", ours / nodes * 1e9, "a plain call (hashing)", alone / nodes * 1e9);
  // Hashing is the same for all, and its time divides by the threads; the rest is the scheduler.
  const double hashing = run.cpu_time ? alone : alone / run.threads;
  table.row(name + ", less hashing", "ns a node", (ours - hashing) / nodes * 1e9,
            "oneTBB task_group", (group - hashing) / nodes * 1e9);
}

}  // namespace

int main(int argc, char** argv) {
  const auto run = benchmark::parse(argc, argv, "Trees of tasks that wait for their children.");
  const tbb::global_control limit(tbb::global_control::max_allowed_parallelism,
                                  static_cast<std::size_t>(run.threads));
  tbb::task_arena arena(run.threads);
  auto session = ray::init({.num_cpus = run.threads});
  benchmark::table table("fork and join", run);
  measure_fib(table, arena, run);
  measure_skynet(table, arena, run);
  measure_uts<0>(table, arena, run);
  measure_uts<1>(table, arena, run);
}
