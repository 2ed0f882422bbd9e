#include <ray/log.hpp>

#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <mutex>
#include <new>

namespace ray {

namespace {

std::atomic<log_level> least_level{log_level::warning};

/// Guards the sink; held while it runs, so that changing it waits for the last call.
struct sink_state {
  std::mutex mutex;
  detail::log_sink sink = nullptr;
  void* context = nullptr;
};

/// Never destroyed: other static objects' destructors may log.
sink_state& current_sink() noexcept {
  alignas(sink_state) static std::byte storage[sizeof(sink_state)];
  static sink_state* const state = ::new (static_cast<void*>(storage)) sink_state;
  return *state;
}

std::string_view prefix_of(log_level level) noexcept {
  switch (level) {
    case log_level::debug:
      return "ray debug: ";
    case log_level::info:
      return "ray info: ";
    case log_level::warning:
      return "ray warning: ";
    default:
      return "ray error: ";
  }
}

iovec piece(std::string_view text) noexcept {
  return {const_cast<char*>(text.data()), text.size()};
}

/// One system call for the whole line, so that lines of several threads and processes do not mix.
/// What the system does not take at once (a full pipe) follows; if it takes nothing, it is lost.
void write_line(log_level level, std::string_view message) noexcept {
  std::array<iovec, 3> pieces = {piece(prefix_of(level)), piece(message), piece("\n")};
  std::size_t first = 0;
  while (first < pieces.size()) {
    const ssize_t result =
        ::writev(STDERR_FILENO, &pieces[first], static_cast<int>(pieces.size() - first));
    if (result < 0 && errno == EINTR) continue;
    if (result < 0) return;
    auto written = static_cast<std::size_t>(result);
    while (first < pieces.size() && written >= pieces[first].iov_len) {
      written -= pieces[first].iov_len;
      ++first;
    }
    if (first == pieces.size()) return;
    pieces[first].iov_base = static_cast<char*>(pieces[first].iov_base) + written;
    pieces[first].iov_len -= written;
  }
}

}  // namespace

void log(log_level level, std::string_view message) noexcept {
  if (!detail::logs(level)) return;
  const int error = errno;  // callers log in the middle of handling it
  try {
    sink_state& state = current_sink();
    const std::scoped_lock lock(state.mutex);
    if (state.sink != nullptr) {
      state.sink(state.context, level, message);
    } else {
      write_line(level, message);
    }
  } catch (...) {
    // A sink that throws loses the message; logging never fails anybody.
  }
  errno = error;
}

namespace detail {

void set_log_level(log_level level) noexcept {
  least_level.store(level, std::memory_order_relaxed);
}

log_level current_log_level() noexcept { return least_level.load(std::memory_order_relaxed); }

void set_log_sink(log_sink sink, void* context) noexcept {
  sink_state& state = current_sink();
  const std::scoped_lock lock(state.mutex);
  state.sink = sink;
  state.context = context;
}

}  // namespace detail

}  // namespace ray
