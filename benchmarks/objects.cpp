/// What do objects cost: putting a value into the store, looking at it, getting it back?
///
/// Vectors of doubles from 1 KiB to 1 GiB. `put` of a vector that is moved in, and `view`, must not
/// depend on the size; `get` copies, and its peer is a copy of the same vector.

#include <malloc.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <ray/ray.hpp>
#include <string>
#include <utility>
#include <vector>

#include "benchmark.hpp"

namespace {

using benchmark::best_of;
using benchmark::seconds;
using values = std::vector<double>;

std::string name_of(std::size_t bytes) {
  if (bytes >= std::size_t{1} << 30) return std::to_string(bytes >> 30) + " GiB";
  if (bytes >= std::size_t{1} << 20) return std::to_string(bytes >> 20) + " MiB";
  return std::to_string(bytes >> 10) + " KiB";
}

/// Into memory of its own, as the copies of `get` are.
double copy(const values& from) {
  return seconds([&] {
    const std::unique_ptr<double[]> to(new double[from.size()]);
    std::memcpy(to.get(), from.data(), from.size() * sizeof(double));
    benchmark::require(to[from.size() - 1] == from.back(), "memcpy");
  });
}

void measure(benchmark::table& table, std::size_t bytes, const benchmark::settings& run) {
  const values original(bytes / sizeof(double), 1.5);
  // Small objects are measured many at a time; the largest one at a time.
  const auto repeats = std::clamp<std::size_t>((256U << 20) / bytes, 1, run.quick ? 16 : 4096);
  const std::size_t looks = run.quick ? 16 : 4096;
  const auto object = ray::put(original);

  const auto [put, view, get, move, memcpy] = best_of(
      run.rounds,
      [&] {
        std::vector<values> sources(repeats, original);
        std::vector<ray::future<values>> objects(repeats);
        return seconds([&] {
          for (std::size_t i = 0; i < repeats; ++i) objects[i] = ray::put(std::move(sources[i]));
        });
      },
      [&] {
        double total = 0;
        const double time = seconds([&] {
          for (std::size_t i = 0; i < looks; ++i) total += object.view()->back();
        });
        benchmark::require(total == 1.5 * static_cast<double>(looks), "view");
        return time;
      },
      [&] {
        return seconds([&] {
          for (std::size_t i = 0; i < repeats; ++i) {
            benchmark::require(ray::get(object).back() == 1.5, "get");
          }
        });
      },
      [&] {
        std::vector<ray::future<values>> objects(repeats);
        for (auto& each : objects) each = ray::put(original);
        std::vector<values> results(repeats);
        const double time = seconds([&] {
          for (std::size_t i = 0; i < repeats; ++i) results[i] = ray::get(std::move(objects[i]));
        });
        benchmark::require(results.back() == original, "get by move");
        return time;
      },
      [&] {
        double time = 0;
        for (std::size_t i = 0; i < repeats; ++i) time += copy(original);
        return time;
      });

  const double per = 1e9 / static_cast<double>(repeats);
  const std::string size = name_of(bytes);
  table.row("put of " + size + ", moved in", "ns", put * per, "memcpy", memcpy * per);
  table.row("view of " + size, "ns", view * 1e9 / static_cast<double>(looks), "memcpy",
            memcpy * per);
  table.row("get of " + size + ", a copy", "ns", get * per, "memcpy", memcpy * per);
  table.row("get of " + size + ", moved out", "ns", move * per, "memcpy", memcpy * per);
}

void measure_small(benchmark::table& table, const benchmark::settings& run) {
  const int count = run.size(1'000'000);
  const auto [ours, theirs] = best_of(
      run.rounds,
      [&] {
        std::vector<ray::future<int>> objects(static_cast<std::size_t>(count));
        return seconds([&] {
          for (auto& each : objects) each = ray::put(7);
          for (auto& each : objects) benchmark::require(ray::get(each) == 7, "small object");
        });
      },
      [&] {
        std::vector<std::shared_ptr<const int>> objects(static_cast<std::size_t>(count));
        return seconds([&] {
          for (auto& each : objects) each = std::make_shared<const int>(7);
          for (auto& each : objects) benchmark::require(*each == 7, "shared_ptr");
        });
      });
  table.row("put and get of an int", "ns", ours / count * 1e9, "std::make_shared",
            theirs / count * 1e9);
}

}  // namespace

int main(int argc, char** argv) {
  const auto run = benchmark::parse(argc, argv, "Objects of all sizes, beside memcpy.");
  // Freed memory up to 32 MiB stays with the process and is used again, larger comes fresh from the
  // system. By itself the allocator decides that by what happened before, so that one of two rivals
  // pays for page faults which the other is spared.
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  // More than twice what is ever stored, so that nothing is spilled.
  auto session = ray::init({.num_cpus = run.threads, .object_store_memory = std::size_t{8} << 30});
  benchmark::table table("objects", run);
  measure_small(table, run);
  const int largest = run.quick ? 20 : 30;
  for (const int exponent : {10, 16, 20, 24, 30}) {
    if (exponent <= largest) measure(table, std::size_t{1} << exponent, run);
  }
}
