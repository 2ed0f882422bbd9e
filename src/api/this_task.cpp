#include <ray/this_task.hpp>

#include "runtime/actor_core.hpp"
#include "runtime/ancestry.hpp"
#include "runtime/core.hpp"
#include "runtime/messages.hpp"
#include "runtime/placement_spec.hpp"
#include "runtime/stripes.hpp"
#include "runtime/task_extra.hpp"

#include <mutex>

namespace ray::this_task {

namespace {

using detail::current_task;

/// The task that asks, null in the driver; usage_error where there is neither. A task may ask while
/// its session ends.
detail::task* asking() {
  if (current_task == nullptr) detail::require_session();
  return current_task;
}

const detail::task_extra* extra() noexcept {
  return current_task != nullptr ? current_task->extra() : nullptr;
}

const task_options* options() noexcept {
  const auto* one = extra();
  return one != nullptr && one->settings != nullptr ? &one->settings->options : nullptr;
}

}  // namespace

task_id id() {
  if (asking() == nullptr) {
    const job_id job = detail::core::get().job;
    return {job.high, job.low};
  }
  return {detail::process_id_prefix(), current_task->id()};
}

std::string name() {
  if (asking() == nullptr) return "driver";
  const auto* given = options();
  return given != nullptr && !given->name.empty() ? given->name
                                                  : current_task->operations().name(current_task);
}

int attempt() {
  asking();
  return extra() != nullptr ? extra()->attempt.load() : 0;
}

node_id node() {
  asking();
  return detail::core::get().node;
}

std::stop_token stop_token() {
  auto& runtime = detail::core::get();
  if (asking() == nullptr) {
    // The driver's: asked to stop never, since the session ends with it.
    static const std::stop_source driver;
    return driver.get_token();
  }
  detail::task_extra& own = detail::extra_of(current_task);
  if (!own.stop) {
    own.stop.emplace();
    own.stop_registration.owner = current_task;
    own.stop_registration.source = &*own.stop;
    runtime.interruptions.add(own.stop_registration);
    // Who cancelled before this was registered did not find it.
    if (runtime.stopping() || detail::end_if_cancelled(current_task)) own.stop->request_stop();
  }
  return own.stop->get_token();
}

std::vector<int> gpu_ids() {
  asking();
  return {};
}

std::map<std::string, double> resources() {
  if (asking() == nullptr) return {};
  const auto* one = extra();
  if (one != nullptr && one->actor != nullptr) {
    return detail::spec_of(one->actor->options(), "an actor").resources.to_map();
  }
  const auto* given = options();
  return detail::spec_of(given != nullptr ? *given : task_options(), "a task").resources.to_map();
}

}  // namespace ray::this_task
