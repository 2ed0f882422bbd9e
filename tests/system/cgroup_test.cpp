#include "system/cgroup.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>

namespace {

using namespace ray::detail::system;

/// A file system of the test's own, with /proc and /sys/fs/cgroup as far as the test writes them.
class fake_root {
 public:
  fake_root() {
    std::string name = (std::filesystem::temp_directory_path() / "cgroup-test-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~fake_root() { std::filesystem::remove_all(path_); }
  fake_root(const fake_root&) = delete;
  fake_root& operator=(const fake_root&) = delete;

  const std::filesystem::path& path() const { return path_; }

  void write(const std::filesystem::path& file, const std::string& text) const {
    std::filesystem::create_directories((path_ / file).parent_path());
    std::ofstream(path_ / file) << text;
  }

 private:
  std::filesystem::path path_;
};

const std::string version_2_mount =
    "25 30 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n";
const std::string version_1_mounts =
    "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw shared:9 - cgroup cgroup rw,cpu,cpuacct\n"
    "35 31 0:32 / /sys/fs/cgroup/memory rw shared:10 master:2 - cgroup cgroup rw,memory\n";

}  // namespace

TEST_CASE("a file system without cgroups limits nothing") {
  const fake_root root;
  CHECK_FALSE(read_cgroup_limits(root.path()).cpus);
  CHECK_FALSE(read_cgroup_limits(root.path()).memory_bytes);
  CHECK_FALSE(read_cgroup_limits("/no/such/root").cpus);
}

TEST_CASE("version 2: the limits of the process's own group") {
  const fake_root root;
  root.write("proc/self/mountinfo", version_2_mount);
  root.write("proc/self/cgroup", "0::/app\n");
  root.write("sys/fs/cgroup/app/cpu.max", "150000 100000\n");
  root.write("sys/fs/cgroup/app/memory.max", "1073741824\n");
  const auto limits = read_cgroup_limits(root.path());
  CHECK(limits.cpus == 1.5);
  CHECK(limits.memory_bytes == std::size_t{1} << 30);
}

TEST_CASE("version 2: the smallest limit up the tree counts, each for itself") {
  const fake_root root;
  root.write("proc/self/mountinfo", version_2_mount);
  root.write("proc/self/cgroup", "0::/slice/service/leaf\n");
  root.write("sys/fs/cgroup/cpu.max", "50000 100000\n");
  root.write("sys/fs/cgroup/slice/cpu.max", "400000 100000\n");
  root.write("sys/fs/cgroup/slice/memory.max", "1000\n");
  root.write("sys/fs/cgroup/slice/service/cpu.max", "200000 100000\n");
  root.write("sys/fs/cgroup/slice/service/memory.max", "2000\n");
  root.write("sys/fs/cgroup/slice/service/leaf/cpu.max", "max 100000\n");
  root.write("sys/fs/cgroup/slice/service/leaf/memory.max", "max\n");
  root.write("sys/fs/cgroup/slice/other/cpu.max", "1000 100000\n");
  CHECK(read_cgroup_limits(root.path()).cpus == 0.5);
  CHECK(read_cgroup_limits(root.path()).memory_bytes == 1000);
}

TEST_CASE("version 2: in a container whose mount shows the container's group") {
  const fake_root root;
  root.write("sys/fs/cgroup/cpu.max", "200000 100000\n");
  SUBCASE("with a cgroup namespace") {
    root.write("proc/self/mountinfo", version_2_mount);
    root.write("proc/self/cgroup", "0::/\n");
    CHECK(read_cgroup_limits(root.path()).cpus == 2);
  }
  SUBCASE("without one") {
    root.write("proc/self/mountinfo",
               "25 30 0:26 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup rw\n");
    root.write("proc/self/cgroup", "0::/docker/abc/inner\n");
    root.write("sys/fs/cgroup/inner/cpu.max", "100000 100000\n");
    CHECK(read_cgroup_limits(root.path()).cpus == 1);
  }
  SUBCASE("a group outside of the namespace: as near as can be read") {
    root.write("proc/self/mountinfo", version_2_mount);
    root.write("proc/self/cgroup", "0::/../other\n");
    CHECK(read_cgroup_limits(root.path()).cpus == 2);
  }
  SUBCASE("a mount from outside of the namespace") {
    root.write("proc/self/mountinfo", "25 30 0:26 /../.. /sys/fs/cgroup ro - cgroup2 cgroup rw\n");
    root.write("proc/self/cgroup", "0::/\n");
    CHECK(read_cgroup_limits(root.path()).cpus == 2);
  }
  SUBCASE("a mount that shows another group says nothing of this one") {
    root.write("proc/self/mountinfo",
               "25 30 0:26 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup rw\n");
    root.write("proc/self/cgroup", "0::/docker/abcd\n");
    CHECK_FALSE(read_cgroup_limits(root.path()).cpus);
  }
}

TEST_CASE("version 1: controllers lie in hierarchies of their own") {
  const fake_root root;
  root.write("proc/self/mountinfo", version_1_mounts);
  root.write("proc/self/cgroup",
             "9:name=systemd:/\n4:memory:/box/inner\n2:cpuacct,cpu:/box\n1:pids:/\n0::/\n");
  root.write("sys/fs/cgroup/cpu,cpuacct/box/cpu.cfs_quota_us", "300000\n");
  root.write("sys/fs/cgroup/cpu,cpuacct/box/cpu.cfs_period_us", "100000\n");
  root.write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
  root.write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  root.write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  root.write("sys/fs/cgroup/memory/box/memory.limit_in_bytes", "4096000\n");
  root.write("sys/fs/cgroup/memory/box/inner/memory.limit_in_bytes", "8192000\n");
  CHECK(read_cgroup_limits(root.path()).cpus == 3);
  CHECK(read_cgroup_limits(root.path()).memory_bytes == 4096000);
}

TEST_CASE("both versions at once") {
  const fake_root root;
  root.write(
      "proc/self/mountinfo",
      version_1_mounts + "41 31 0:38 / /sys/fs/cgroup/unified rw shared:17 - cgroup2 cgroup2 rw\n");
  root.write("proc/self/cgroup", "4:memory:/m\n0::/u\n");
  root.write("sys/fs/cgroup/unified/u/cpu.max", "250000 50000\n");
  root.write("sys/fs/cgroup/memory/m/memory.limit_in_bytes", "77\n");
  CHECK(read_cgroup_limits(root.path()).cpus == 5);
  CHECK(read_cgroup_limits(root.path()).memory_bytes == 77);
}

TEST_CASE("broken files limit nothing") {
  const fake_root root;
  root.write("proc/self/mountinfo", "garbage\n\n25\n25 30 0:26 / -\n" + version_2_mount + " - -");
  root.write("proc/self/cgroup", "\n:\n::\nx\n0::relative\n0::/app (deleted)\n0::/app");
  root.write("sys/fs/cgroup/app/cpu.max", "");
  root.write("sys/fs/cgroup/app/memory.max", "lots\n");
  CHECK_FALSE(read_cgroup_limits(root.path()).cpus);
  CHECK_FALSE(read_cgroup_limits(root.path()).memory_bytes);
}

TEST_CASE("a directory where a file should be limits nothing") {
  const fake_root root;
  root.write("proc/self/mountinfo", version_2_mount);
  root.write("proc/self/cgroup", "0::/\n");
  root.write("sys/fs/cgroup/cpu.max/oddity", "");
  CHECK_FALSE(read_cgroup_limits(root.path()).cpus);
}

TEST_CASE("cpu.max and its like") {
  CHECK(parse_cpu_max("150000 100000\n") == 1.5);
  CHECK(parse_cpu_max("1000 1000000") == 0.001);
  for (const char* none : {"max 100000\n", "max", "", "\n", "100000", "-1 100000", "0 100000",
                           "100000 0", "1e5 100000", "100000x 100000", "99999999999999999999 1"}) {
    CAPTURE(std::string(none));
    CHECK_FALSE(parse_cpu_max(none));
  }
  CHECK(parse_cpu_quota("50000\n", "100000\n") == 0.5);
  CHECK_FALSE(parse_cpu_quota("-1\n", "100000\n"));
  CHECK_FALSE(parse_cpu_quota("50000\n", ""));
}

TEST_CASE("memory.max and its like") {
  CHECK(parse_memory_limit("4096\n") == 4096);
  CHECK(parse_memory_limit("18446744073709551615") == std::numeric_limits<std::size_t>::max());
  for (const char* none : {"max\n", "", "0\n", "-1\n", "18446744073709551616", "4K"}) {
    CAPTURE(std::string(none));
    CHECK_FALSE(parse_memory_limit(none));
  }
}

TEST_CASE("a group's path may hold colons") {
  const auto members = parse_cgroup_memberships("4:memory,hugetlb:/a:b\n0::/");
  REQUIRE(members.size() == 2);
  CHECK(members[0].controllers == std::vector<std::string>{"memory", "hugetlb"});
  CHECK(members[0].path == "/a:b");
  CHECK(members[1].controllers.empty());
  CHECK(members[1].path == "/");
}

TEST_CASE("mountinfo escapes blanks in paths") {
  const auto mounts = parse_cgroup_mounts(
      "22 1 0:21 / /proc rw - proc proc rw\n"
      "25 30 0:26 /my\\040group /mnt/c\\134d\\0401 rw - cgroup2 none rw\n"
      "26 30 0:27 / /m\\4\\99 rw shared:3 - cgroup none rw,cpu\n");
  REQUIRE(mounts.size() == 2);
  CHECK(mounts[0].version_2);
  CHECK(mounts[0].root == "/my group");
  CHECK(mounts[0].mount_point == "/mnt/c\\d 1");
  CHECK_FALSE(mounts[1].version_2);
  CHECK(mounts[1].options == std::vector<std::string>{"rw", "cpu"});
  CHECK(mounts[1].mount_point == "/m\\4\\99");
}

TEST_CASE("the cgroups of this very machine can be read") {
  const auto limits = read_cgroup_limits();
  CHECK(limits.cpus.value_or(1) > 0);
  CHECK(limits.memory_bytes.value_or(1) > 0);
}
