/// The CPU quota and the memory limit that control groups (version 1, version 2 or both at once)
/// put on this process. The kernel names the process's groups in /proc/self/cgroup and the places
/// where the hierarchies are mounted in /proc/self/mountinfo; a group is bound by the limits of all
/// groups above it too, so each is read from the process's own group up to the mount point.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ray::detail::system {

/// What is not limited is empty.
struct cgroup_limits {
  std::optional<double> cpus = {};  // CPU time per time, 1.5 for one and a half CPUs
  std::optional<std::size_t> memory_bytes = {};
};

/// The smallest limits on this process. Files that are missing, unreadable or make no sense limit
/// nothing. `root` is where the file system begins, so that tests can bring a tree of their own.
[[nodiscard]] cgroup_limits read_cgroup_limits(const std::filesystem::path& root = "/");

/// A line of /proc/self/cgroup: the group of this process in one hierarchy.
struct cgroup_membership {
  std::vector<std::string> controllers;  // empty: the hierarchy of version 2
  std::string path;
};

/// A mounted hierarchy, as /proc/self/mountinfo tells it.
struct cgroup_mount {
  bool version_2 = false;
  std::vector<std::string> options;  // of version 1: its controllers are among them
  std::string root;                  // the group that shows at the mount point
  std::filesystem::path mount_point;
};

[[nodiscard]] std::vector<cgroup_membership> parse_cgroup_memberships(std::string_view text);
[[nodiscard]] std::vector<cgroup_mount> parse_cgroup_mounts(std::string_view text);

/// Of cpu.max ("150000 100000", "max 100000").
[[nodiscard]] std::optional<double> parse_cpu_max(std::string_view text);
/// Of cpu.cfs_quota_us (-1: none) and cpu.cfs_period_us.
[[nodiscard]] std::optional<double> parse_cpu_quota(std::string_view quota,
                                                    std::string_view period);
/// Of memory.max ("max": none) and memory.limit_in_bytes (without a limit, a number near 2^63).
[[nodiscard]] std::optional<std::size_t> parse_memory_limit(std::string_view text);

}  // namespace ray::detail::system
