/// What the benchmarks share: options, timing and the table.
///
/// Every number is the best of several rounds, and within a round each rival runs once, so that
/// what disturbs the machine meanwhile disturbs all of them. A process measures at one number of
/// threads, and stays on as many CPUs: a rival with one thread more has no CPU more.
#pragma once

#include <sched.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <system_error>

namespace benchmark {

struct settings {
  int threads = 1;
  int rounds = 5;
  bool quick = false;     // small sizes: does it still run, not how fast
  bool cpu_time = false;  // of all threads together, instead of the time that passes

  /// `full`, or a fraction of it in a quick run.
  [[nodiscard]] int size(int full, int fraction = 100) const {
    return quick ? std::max(full / fraction, 1) : full;
  }
};

/// Keeps this process, and every thread that it will start, on its first `count` CPUs.
inline int keep_to_cpus(int count) {
  cpu_set_t allowed, kept;
  CPU_ZERO(&allowed);
  CPU_ZERO(&kept);
  sched_getaffinity(0, sizeof(allowed), &allowed);
  int found = 0;
  for (int cpu = 0; cpu < CPU_SETSIZE && found < count; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed)) continue;
    CPU_SET(cpu, &kept);
    ++found;
  }
  sched_setaffinity(0, sizeof(kept), &kept);
  return found;
}

/// Whether `seconds` counts CPU time; set by `parse`.
inline bool counts_cpu_time = false;

/// Reads `--threads=N --rounds=N --quick`; prints what they mean and ends the process otherwise.
inline settings parse(int argc, char** argv, std::string_view what) {
  settings result;
  result.threads = CPU_SETSIZE;
  const auto usage = [&](int status) {
    std::fprintf(
        status == 0 ? stdout : stderr,
        "%.*s\n\n  --threads=N   threads of each rival, and CPUs of the process (all)\n"
        "  --rounds=N    of which the best counts (5)\n"
        "  --quick       small sizes, one round: to see that it runs\n"
        "  --cpu-time    count the process's CPU time: for a machine that others use too\n",
        static_cast<int>(what.size()), what.data());
    std::exit(status);
  };
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    const auto number = [&](std::string_view name, int& into) {
      if (!word.starts_with(name)) return false;
      const auto text = word.substr(name.size());
      const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), into);
      return failure == std::errc{} && end == text.data() + text.size() && into > 0;
    };
    if (word == "--help") usage(0);
    if (word == "--quick") {
      result.quick = true;
      result.rounds = 1;
    } else if (word == "--cpu-time") {
      result.cpu_time = counts_cpu_time = true;
    } else if (!number("--threads=", result.threads) && !number("--rounds=", result.rounds)) {
      std::fprintf(stderr, "%s: not understood\n", argv[i]);
      usage(2);
    }
  }
  result.threads = keep_to_cpus(result.threads);
  return result;
}

/// The seconds that `function` takes.
template <typename Function>
double seconds(Function&& function) {
  const auto now = [] {
    timespec time{};
    clock_gettime(counts_cpu_time ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
  };
  const double begin = now();
  function();
  return now() - begin;
}

/// The best time of each of these functions, which take turns and return seconds themselves: what
/// a function prepares and clears away is its own affair.
template <typename... Functions>
std::array<double, sizeof...(Functions)> best_of(int rounds, Functions&&... functions) {
  std::array<double, sizeof...(Functions)> best;
  best.fill(1e300);
  for (int round = 0; round < rounds; ++round) {
    std::size_t i = 0;
    ((best[i] = std::min(best[i], static_cast<double>(functions())), ++i), ...);
  }
  return best;
}

/// A table in Markdown. A ratio below 1 means that ray takes less.
class table {
 public:
  table(std::string_view title, const settings& run) {
    std::printf("\n### %.*s, %d thread%s%s%s\n\n", static_cast<int>(title.size()), title.data(),
                run.threads, run.threads == 1 ? "" : "s", run.cpu_time ? ", CPU time" : "",
                run.quick ? " (quick: not a result)" : "");
    std::printf("| %-44s | %-10s | %9s | %-32s | %9s | %6s |\n", "what", "unit", "ray", "peer",
                "of peer", "ratio");
    std::printf("|%s|%s|%s:|%s|%s:|%s:|\n", std::string(46, '-').c_str(),
                std::string(12, '-').c_str(), std::string(10, '-').c_str(),
                std::string(34, '-').c_str(), std::string(10, '-').c_str(),
                std::string(7, '-').c_str());
  }

  void row(std::string_view what, std::string_view unit, double ours, std::string_view peer,
           double theirs) {
    std::printf("| %-44.*s | %-10.*s | %9s | %-32.*s | %9s | %6s |\n",
                static_cast<int>(what.size()), what.data(), static_cast<int>(unit.size()),
                unit.data(), digits(ours).c_str(), static_cast<int>(peer.size()), peer.data(),
                digits(theirs).c_str(), digits(ours / theirs).c_str());
    std::fflush(stdout);
  }

  /// What no peer does.
  void row(std::string_view what, std::string_view unit, double ours) {
    std::printf("| %-44.*s | %-10.*s | %9s | %-32s | %9s | %6s |\n", static_cast<int>(what.size()),
                what.data(), static_cast<int>(unit.size()), unit.data(), digits(ours).c_str(), "",
                "", "");
    std::fflush(stdout);
  }

 private:
  /// Three significant digits, but no fewer than the whole number has.
  static std::string digits(double value) {
    char text[32];
    const int decimals = value < 1 ? 3 : value < 10 ? 2 : value < 100 ? 1 : 0;
    std::snprintf(text, sizeof(text), "%.*f", decimals, value);
    return text;
  }
};

/// Ends the process when a rival computed something wrong: its time would mean nothing.
inline void require(bool right, std::string_view what) {
  if (right) return;
  std::fprintf(stderr, "wrong result: %.*s\n", static_cast<int>(what.size()), what.data());
  std::exit(1);
}

}  // namespace benchmark
