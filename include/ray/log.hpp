/// Messages of ray about itself: one line each to the standard error stream, by level.
///
/// Whole lines only, from any number of threads; nothing here throws.
#pragma once

#include <string_view>

namespace ray {

enum class log_level { debug, info, warning, error, off };

/// Writes "ray warning: message", or so, if `level` is at least the session's verbosity. `off` is
/// no level of a message and writes nothing.
void log(log_level level, std::string_view message) noexcept;

namespace detail {

/// Messages below `level` are dropped from now on; `warning` until somebody says otherwise.
void set_log_level(log_level level) noexcept;
[[nodiscard]] log_level current_log_level() noexcept;

/// Whether a message would be written, for callers whose messages take time to make.
[[nodiscard]] inline bool logs(log_level level) noexcept {
  return level != log_level::off && level >= current_log_level();
}

/// Receives each message instead of the standard error stream.
using log_sink = void (*)(void* context, log_level level, std::string_view message);

/// Sends messages to `sink`, or back to the standard error stream if it is null. One thread at a
/// time calls the sink, which must not log itself; when this returns, the former sink has returned
/// and is not called again.
void set_log_sink(log_sink sink, void* context) noexcept;

}  // namespace detail

}  // namespace ray
