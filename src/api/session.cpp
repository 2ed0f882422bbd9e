#include <ray/session.hpp>

#include "exec/pool.hpp"
#include "runtime/command_line.hpp"
#include "runtime/core.hpp"
#include "runtime/session_options.hpp"

#include <ray/error.hpp>

#include <cstdlib>
#include <mutex>

namespace ray {
namespace {

/// `std::exit` ends the session too. Registered once, before the first session's threads exist.
void shut_down_at_exit() {
  static std::once_flag once;
  std::call_once(once, [] { std::atexit([] { detail::core::get().stop(); }); });
}

}  // namespace

session init(config options) {
  detail::core::get().start(detail::runtime::resolve_options(options));
  shut_down_at_exit();
  return session(true);
}

session init(int& argc, char**& argv, config options) {
  detail::core::get().start(detail::runtime::resolve_options(argc, argv, options));
  shut_down_at_exit();
  return session(true);
}

bool is_initialized() noexcept { return detail::core::get().running(); }

void shutdown() {
  if (detail::current_task != nullptr || detail::exec::pool::this_worker() != nullptr) {
    throw usage_error(
        "ray::shutdown: called by a task, which would wait for itself; call it from main, or let "
        "the session object end");
  }
  detail::core::get().stop();
}

session::~session() {
  if (owns_) detail::core::get().stop();
}

session& session::operator=(session&& other) noexcept {
  if (this != &other) {
    if (owns_) detail::core::get().stop();
    owns_ = std::exchange(other.owns_, false);
  }
  return *this;
}

}  // namespace ray
