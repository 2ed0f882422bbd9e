#include <ray/session.hpp>

#include "exec/pool.hpp"
#include "runtime/command_line.hpp"
#include "runtime/core.hpp"
#include "runtime/session_options.hpp"

#include <ray/error.hpp>
#include <ray/log.hpp>

#include <cstdlib>
#include <mutex>

namespace ray {
namespace {

bool inside_task() noexcept {
  return detail::current_task != nullptr || detail::exec::pool::this_worker() != nullptr;
}

/// Ends the session of a `session` object, which cannot throw.
void end(std::uint64_t number) noexcept {
  if (number == 0) return;
  if (!inside_task()) return detail::core::get().stop(number);
  log(log_level::error,
      "ray: a session object ended inside a task, which would wait for itself: the session "
      "goes on; keep the object in main");
}

/// `std::exit` ends the session too. Registered once, before the first session's threads exist.
void shut_down_at_exit() {
  static std::once_flag once;
  std::call_once(once, [] {
    std::atexit([] {
      auto& runtime = detail::core::get();
      if (!inside_task()) return runtime.stop();
      // `exit` was called by a task, which cannot wait for itself: only the files go.
      if (const auto objects = runtime.objects()) objects->close();
    });
  });
}

}  // namespace

session init(config options) {
  const auto number = detail::core::get().start(detail::runtime::resolve_options(options));
  shut_down_at_exit();
  return session(number);
}

session init(int& argc, char**& argv, config options) {
  const auto number =
      detail::core::get().start(detail::runtime::resolve_options(argc, argv, options));
  shut_down_at_exit();
  return session(number);
}

bool is_initialized() noexcept { return detail::core::get().running(); }

void shutdown() {
  if (inside_task()) {
    throw usage_error(
        "ray::shutdown: called by a task, which would wait for itself; call it from main, or let "
        "the session object end");
  }
  detail::core::get().stop();
}

session::~session() { end(number_); }

session& session::operator=(session&& other) noexcept {
  if (this != &other) {
    end(number_);
    number_ = std::exchange(other.number_, 0);
  }
  return *this;
}

}  // namespace ray
