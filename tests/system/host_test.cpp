#include "system/host.hpp"

#include <doctest/doctest.h>
#include <sched.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <thread>

using namespace ray::detail::system;

TEST_CASE("a CPU quota takes away whole CPUs, but never the last") {
  CHECK(cpus_under_quota(8, std::nullopt) == 8);
  CHECK(cpus_under_quota(8, 16.0) == 8);
  CHECK(cpus_under_quota(8, 8.0) == 8);
  CHECK(cpus_under_quota(8, 7.5) == 8);
  CHECK(cpus_under_quota(8, 2.0) == 2);
  CHECK(cpus_under_quota(8, 1.5) == 2);
  CHECK(cpus_under_quota(8, 0.001) == 1);
  CHECK(cpus_under_quota(8, 1e300) == 8);
  CHECK(cpus_under_quota(8, std::numeric_limits<double>::quiet_NaN()) == 8);
  CHECK(cpus_under_quota(0, std::nullopt) == 1);
  CHECK(cpus_under_quota(0, 0.0) == 1);
}

TEST_CASE("the CPUs that this process may run on") {
  CHECK(affinity_cpu_count() >= 1);
  CHECK(cpu_count() >= 1);
  CHECK(cpu_count() <= affinity_cpu_count());
}

TEST_CASE("the affinity of the calling thread counts") {
  int count = 0;
  std::thread([&] {
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    CPU_SET(static_cast<std::size_t>(::sched_getcpu()), &allowed);
    if (::sched_setaffinity(0, sizeof(allowed), &allowed) == 0) count = affinity_cpu_count();
  }).join();
  CHECK(count == 1);
}

TEST_CASE("MemTotal of /proc/meminfo") {
  CHECK(parse_memory_total("MemTotal:       16315092 kB\nMemFree: 1 kB\n") ==
        std::size_t{16315092} * 1024);
  CHECK(parse_memory_total("Some: 1 kB\nMemTotal:\t2 kB") == 2048);
  for (const char* none : {"", "MemTotal:", "MemTotal: kB", "MemTotal: 0 kB", "MemFree: 3 kB",
                           "MemTotal: 18446744073709551615 kB"}) {
    CAPTURE(std::string(none));
    CHECK_FALSE(parse_memory_total(none));
  }
}

TEST_CASE("the memory limit is the smaller of the machine's and the cgroup's") {
  std::string name = (std::filesystem::temp_directory_path() / "host-test-XXXXXX").string();
  REQUIRE(::mkdtemp(name.data()) != nullptr);
  const std::filesystem::path root = name;
  const auto write = [&](const std::filesystem::path& file, const std::string& text) {
    std::filesystem::create_directories((root / file).parent_path());
    std::ofstream(root / file) << text;
  };
  SUBCASE("without /proc the system is asked") {
    CHECK(memory_limit_below(root) >= std::size_t{1} << 20);
  }
  SUBCASE("without a cgroup") {
    write("proc/meminfo", "MemTotal: 1000 kB\n");
    CHECK(memory_limit_below(root) == 1024000);
  }
  SUBCASE("with one") {
    write("proc/meminfo", "MemTotal: 1000 kB\n");
    write("proc/self/cgroup", "0::/a\n");
    write("proc/self/mountinfo", "25 30 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
    write("sys/fs/cgroup/a/memory.max", "500\n");
    CHECK(memory_limit_below(root) == 500);
    write("sys/fs/cgroup/a/memory.max", "9223372036854771712\n");
    CHECK(memory_limit_below(root) == 1024000);
  }
  std::filesystem::remove_all(root);
}

TEST_CASE("this machine has memory and a name") {
  CHECK(memory_limit() >= std::size_t{1} << 20);
  CHECK_FALSE(host_name().empty());
}
