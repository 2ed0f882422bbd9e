#include "runtime/blocking.hpp"

#include "runtime/actor_core.hpp"
#include "runtime/messages.hpp"
#include "runtime/task_extra.hpp"

#include <ray/detail/runtime/value_access.hpp>
#include <ray/error.hpp>
#include <ray/log.hpp>

namespace ray::detail {

deadline_type deadline_after(duration timeout) noexcept {
  using clock = std::chrono::steady_clock;
  const auto now = clock::now();
  if (timeout >= clock::time_point::max() - now) return std::nullopt;
  return now + timeout;
}

void throw_if_interrupted() {
  if (core::get().stopping()) throw usage_error("ray: " + session_over_text());
  task* one = current_task;
  if (one == nullptr) return;
  const std::uint64_t word = one->word();
  if ((word & object::cancelled) != 0) throw_error(one);
  if ((word & object::to_repeat) != 0) throw cancelled_error(call_repeats_message(one));
}

void require_may_block() {
  if (courier::is_this_thread()) {
    throw usage_error(
        "ray: a serializer or destructor that ray calls must not wait for ray: it would wait for "
        "itself; get what it needs before the object is stored");
  }
}

blocking::blocking() : record_(exec::this_thread()), owner_(current_task), lent_(false) {
  registration_.owner = owner_;
  registration_.sleeper = &record_.parker;
  core& runtime = core::get();
  runtime.interruptions.add(registration_);
  if (owner_ == nullptr || owner_->extra() == nullptr) return;
  task_extra& extra = *owner_->extra();
  if (extra.holds_slot) {
    lent_ = true;
    runtime.scheduler.task_blocked(owner_);
  } else if (extra.actor != nullptr && extra.actor->holds_cpu()) {
    lent_ = true;
    runtime.scheduler.actor_blocked(extra.actor->cls());
  }
}

blocking::~blocking() {
  core& runtime = core::get();
  runtime.interruptions.remove(registration_);
  if (!lent_) return;
  const task_extra& extra = *owner_->extra();
  if (extra.holds_slot) {
    runtime.scheduler.task_resumed(owner_);
  } else {
    runtime.scheduler.actor_resumed(extra.actor->cls());
  }
}

void blocking::log_long_wait(const std::string& what) {
  log(log_level::warning, "ray: a thread has waited for 10 s for " + what +
                              "; it goes on waiting (ray::get and ray::wait take a timeout)");
}

}  // namespace ray::detail
