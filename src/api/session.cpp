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
  if (detail::current_task != nullptr || detail::exec::pool::this_worker() != nullptr) {
    throw usage_error(
        "ray::shutdown: called by a task, which would wait for itself; call it from main, or let "
        "the session object end");
  }
  detail::core::get().stop();
}

session::~session() {
  if (number_ != 0) detail::core::get().stop(number_);
}

session& session::operator=(session&& other) noexcept {
  if (this != &other) {
    if (number_ != 0) detail::core::get().stop(number_);
    number_ = std::exchange(other.number_, 0);
  }
  return *this;
}

}  // namespace ray
