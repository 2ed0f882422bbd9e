#include "system/host.hpp"

#include "system/cgroup.hpp"
#include "system/text_file.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <limits>
#include <memory>
#include <system_error>
#include <thread>

namespace ray::detail::system {

namespace {

/// What the mask of an imagined machine of that size says; 0 when the machine has more, -1 when
/// asking is of no use.
int affinity_count_up_to(std::size_t cpus) {
  struct free_set {
    void operator()(cpu_set_t* set) const { CPU_FREE(set); }
  };
  const std::unique_ptr<cpu_set_t, free_set> set(CPU_ALLOC(cpus));
  if (!set) return -1;
  const std::size_t bytes = CPU_ALLOC_SIZE(cpus);
  if (::sched_getaffinity(0, bytes, set.get()) == 0) return CPU_COUNT_S(bytes, set.get());
  return errno == EINVAL ? 0 : -1;
}

std::size_t physical_memory_by_sysconf() {
  const long pages = ::sysconf(_SC_PHYS_PAGES);
  const long page = ::sysconf(_SC_PAGESIZE);
  if (pages <= 0 || page <= 0) return std::size_t{1} << 30;
  return static_cast<std::size_t>(pages) * static_cast<std::size_t>(page);
}

}  // namespace

int affinity_cpu_count() {
  // The kernel refuses a mask shorter than its own, however few CPUs the machine has.
  constexpr std::size_t first_size = 1024;
  constexpr std::size_t last_size = std::size_t{1} << 20;
  for (std::size_t size = first_size; size <= last_size; size *= 2) {
    const int count = affinity_count_up_to(size);
    if (count > 0) return count;
    if (count < 0) break;
  }
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

int cpus_under_quota(int available, std::optional<double> quota) {
  const int most = std::max(1, available);
  if (!quota || !(*quota < most)) return most;
  return std::max(1, static_cast<int>(std::ceil(*quota)));
}

int cpu_count() { return cpus_under_quota(affinity_cpu_count(), read_cgroup_limits().cpus); }

std::optional<std::size_t> parse_memory_total(std::string_view text) {
  constexpr std::string_view label = "MemTotal:";
  const auto start = text.find(label);
  if (start == std::string_view::npos) return std::nullopt;
  text.remove_prefix(start + label.size());
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  std::size_t kibibytes = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), kibibytes);
  constexpr std::size_t largest = std::numeric_limits<std::size_t>::max() / 1024;
  if (error != std::errc() || kibibytes == 0 || kibibytes > largest) return std::nullopt;
  return kibibytes * 1024;
}

std::size_t memory_limit_below(const std::filesystem::path& root) {
  std::error_code ignored;
  const auto total = parse_memory_total(read_text_file(root / "proc/meminfo", ignored));
  const auto physical = total ? *total : physical_memory_by_sysconf();
  return std::min(physical, read_cgroup_limits(root).memory_bytes.value_or(physical));
}

std::size_t memory_limit() { return memory_limit_below("/"); }

std::string host_name() {
  std::array<char, 256> name{};
  // The last byte stays 0: a name that is cut off may lack its own.
  if (::gethostname(name.data(), name.size() - 1) != 0 || name[0] == '\0') return "localhost";
  return name.data();
}

}  // namespace ray::detail::system
