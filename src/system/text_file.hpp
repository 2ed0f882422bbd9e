/// Reading of small text files: those of /proc and /sys, which claim to be empty, and secrets.
#pragma once

#include <filesystem>
#include <string>
#include <system_error>

namespace ray::detail::system {

/// All that the file holds; empty, with `error` set, when it cannot be read. The size that the file
/// system reports is not believed, and what is not a regular file, or longer than 16 MiB, is an
/// error: a setting that names a device or a pipe must neither block nor fill the memory.
[[nodiscard]] std::string read_text_file(const std::filesystem::path& file, std::error_code& error);

}  // namespace ray::detail::system
