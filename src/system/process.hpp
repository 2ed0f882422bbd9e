/// What this process can find out about itself: its executable, the memory that it holds, and the
/// names of its threads, which debuggers, `top -H` and `perf` show.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace ray::detail::system {

/// Where this program's executable lies, or lay when the process began; empty when /proc is not
/// mounted. To read the program itself open /proc/self/exe: the file may have been replaced since.
[[nodiscard]] std::filesystem::path executable_path();

/// The bytes of this process that are in memory now, shared libraries included; 0 when /proc is not
/// mounted. Costs a system call or three, allocates nothing, and may be called from any thread.
[[nodiscard]] std::size_t process_resident_bytes() noexcept;

/// Names the calling thread. The kernel keeps 15 bytes; what is longer is cut off.
void set_thread_name(std::string_view name) noexcept;

/// The calling thread's name.
[[nodiscard]] std::string thread_name();

/// The second number of /proc/self/statm.
[[nodiscard]] std::optional<std::size_t> parse_resident_pages(std::string_view text) noexcept;

/// What /proc/self/exe says, without the " (deleted)" that the kernel appends to the name of a file
/// that is gone.
[[nodiscard]] std::filesystem::path without_deleted_mark(std::string link);

}  // namespace ray::detail::system
