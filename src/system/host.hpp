/// What this machine lets the process use: CPUs, memory, and the machine's name. Nothing here
/// throws for want of a file, or keeps what it found: affinity and limits may change while the
/// process runs, so ask once and remember the answer.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace ray::detail::system {

/// The CPUs that this process may keep busy, at least 1: those of the calling thread's affinity, or
/// the cgroups' CPU quota if that is less.
[[nodiscard]] int cpu_count();

/// The bytes of memory that this process may use: the physical memory, or the cgroups' limit if
/// that is less.
[[nodiscard]] std::size_t memory_limit();

/// The machine's name, "localhost" when it has none.
[[nodiscard]] std::string host_name();

/// The CPUs in the calling thread's affinity mask, at least 1. Masks of any length are read.
[[nodiscard]] int affinity_cpu_count();

/// `available` CPUs under a quota. Part of a CPU counts as a whole one: slots are for threads, and
/// half a thread does no work.
[[nodiscard]] int cpus_under_quota(int available, std::optional<double> quota);

/// `memory_limit` of the file system that begins at `root`. 1 GiB when nothing tells.
[[nodiscard]] std::size_t memory_limit_below(const std::filesystem::path& root);

/// MemTotal of /proc/meminfo, in bytes.
[[nodiscard]] std::optional<std::size_t> parse_memory_total(std::string_view text);

}  // namespace ray::detail::system
