#include <ray/detail/runtime/meeting.hpp>

#include "runtime/blocking.hpp"
#include "runtime/messages.hpp"

#include <ray/error.hpp>

#include <algorithm>
#include <string>
#include <utility>

namespace ray::detail {

void meeting::wake_all() noexcept {
  for (parker* one : std::exchange(sleepers_, {})) one->unpark();
}

bool meeting::wait_until(duration timeout, const char* what, bool (*attempt)(void*),
                         void* context) {
  const auto try_once = [&](parker* sleeper) {
    const std::lock_guard lock(mutex_);
    const bool done = attempt(context);
    if (done) {
      wake_all();
    } else if (sleeper != nullptr &&
               std::find(sleepers_.begin(), sleepers_.end(), sleeper) == sleepers_.end()) {
      sleepers_.push_back(sleeper);
    }
    return done;
  };
  if (try_once(nullptr)) return true;
  if (timeout <= duration::zero()) return false;
  require_may_block();
  const deadline_type deadline = deadline_after(timeout);
  blocking region;
  return region.sleep_until([&] { return try_once(&region.sleeper()); }, deadline,
                            [&] { return std::string(what); });
}

void throw_empty_handle(const char* what) {
  throw usage_error(std::string("ray: an empty ") + what +
                    " was used; construct it with its size, or copy one that was");
}

void throw_queue_closed() {
  throw usage_error(
      "ray::queue: the queue is closed; nothing can be put into it, and all items were taken");
}

void throw_queue_timeout(const char* what, duration timeout) {
  throw timeout_error(std::string("ray::queue: ") + what + " took longer than " +
                      in_words(timeout) + "; the queue is as before");
}

}  // namespace ray::detail
