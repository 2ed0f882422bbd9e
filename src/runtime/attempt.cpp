#include "runtime/attempt.hpp"

#include "runtime/actor_core.hpp"
#include "runtime/ancestry.hpp"
#include "runtime/core.hpp"
#include "runtime/messages.hpp"
#include "runtime/placement_spec.hpp"
#include "runtime/task_extra.hpp"

#include <ray/error.hpp>

#include <chrono>
#include <utility>

namespace ray::detail {
namespace {

void time_out(void* context) noexcept {
  auto* one = static_cast<task*>(context);
  end_early(one,
            std::make_exception_ptr(
                timeout_error(timeout_message(one, one->extra()->settings->options.timeout))),
            true);
}

void drop_timer(task_extra& extra) noexcept {
  if (extra.timer) core::get().clock.remove(*extra.timer);
  extra.timer.reset();
}

void restore_arguments(task* one) {
  if (one->operations().destroy_arguments != nullptr &&
      !std::exchange(task_access::arguments_gone(one), true)) {
    one->operations().destroy_arguments(one);
  }
  one->operations().restore_arguments(one, one->extra()->arguments_copy);
  task_access::arguments_gone(one) = false;
}

}  // namespace

task_extra& extra_of(task* one) {
  task_extra* extra = one->extra();
  if (extra == nullptr) {
    extra = new task_extra;
    task_access::extra(one).store(extra, std::memory_order_release);
  }
  return *extra;
}

void set_call_settings(task* one, std::shared_ptr<const call_settings> settings) {
  if (settings == nullptr) return;
  extra_of(one).settings = std::move(settings);
  check_task_options(one->extra()->settings->options, describe(one));
}

std::shared_ptr<const call_settings> make_settings(task_options options) {
  return std::make_shared<const call_settings>(std::move(options));
}

call_settings::call_settings(task_options given) : options(std::move(given)) {
  const bool anywhere = options.labels.empty() && options.priority == 0 && !options.isolated &&
                        std::holds_alternative<default_scheduling>(options.scheduling);
  const bool only_cpus =
      options.num_gpus.units() == 0 && options.memory == 0 && options.resources.empty();
  if (!anywhere || !only_cpus) {
    resources = need::classed;
  } else if (options.num_cpus.units() == 0) {
    resources = need::free;
  } else if (options.num_cpus != amount(1)) {
    resources = need::classed;
  }
}

call_settings::~call_settings() {
  if (session != 0) core::get().scheduler.drop_class(cls, session);
}

bool begin_attempt(task* one) noexcept {
  if (one->is_ready()) return false;
  if (core::get().stopping()) {
    one->fail(std::make_exception_ptr(usage_error(session_over_message(one))), object::observed);
    return false;
  }
  if (end_if_cancelled(one)) return false;
  task_extra* extra = one->extra();
  if (extra == nullptr || extra->settings == nullptr) return true;
  const task_options& options = extra->settings->options;
  try {
    if (!options.retry_exceptions.is_never() && options.max_retries != 0 &&
        extra->arguments_copy == nullptr) {
      extra->arguments_copy = one->operations().make_arguments_copy(one);
    }
    if (options.timeout != forever) {
      extra->timer =
          core::get().clock.add(std::chrono::steady_clock::now() + options.timeout, time_out, one);
    }
  } catch (...) {
    one->fail(std::current_exception());
    return false;
  }
  return true;
}

bool may_repeat(task* one) noexcept {
  const task_extra* extra = one->extra();
  if (extra == nullptr || extra->arguments_copy == nullptr || one->is_ready()) return false;
  const task_options& options = extra->settings->options;
  if (options.max_retries >= 0 &&
      extra->attempt.load(std::memory_order_relaxed) >= options.max_retries)
    return false;
  return !core::stopping();
}

bool try_again(task* one, const std::exception_ptr& error) noexcept {
  if (!may_repeat(one)) return false;
  task_extra* extra = one->extra();
  const task_options& options = extra->settings->options;
  try {
    if (!options.retry_exceptions.matches(error)) return false;
    drop_timer(*extra);
    restore_arguments(one);
  } catch (...) {
    return false;  // the arguments cannot be copied again: the task ends with its own error
  }
  extra->attempt.fetch_add(1, std::memory_order_relaxed);
  return true;
}

bool undo_attempt(task* one, outcome how) noexcept {
  task_extra& extra = *one->extra();
  if (how == outcome::value) one->retract_value();
  end_of_attempt(one);
  extra.stop.reset();
  try {
    restore_arguments(one);
  } catch (...) {
    one->fail(std::current_exception());
    return false;
  }
  extra.attempt.fetch_add(1, std::memory_order_relaxed);
  return true;
}

void end_of_attempt(task* one) noexcept {
  task_extra& extra = *one->extra();
  drop_timer(extra);
  if (extra.stop) {
    core::get().interruptions.remove(extra.stop_registration);
    extra.stop_registration.source = nullptr;
  }
  if (extra.holds_slot) core::get().scheduler.task_ended(one);
}

void destroy_extra(task* one) noexcept {
  task_extra* extra = task_access::extra(one).exchange(nullptr, std::memory_order_relaxed);
  if (extra->arguments_copy != nullptr) {
    one->operations().destroy_arguments_copy(extra->arguments_copy);
  }
  if (extra->actor != nullptr) actor_core::release(extra->actor);
  delete extra;
}

}  // namespace ray::detail
