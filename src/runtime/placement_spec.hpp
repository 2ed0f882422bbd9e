/// From the options that users write to the specs of the head's machine.
#pragma once

#include "head/messages.hpp"

#include <ray/detail/runtime/object.hpp>
#include <ray/options.hpp>

#include <memory>
#include <string>

namespace ray::detail {

class actor_state;

/// What a placement group's handles share.
struct group_state {
  head::group_id id;
  std::size_t bundles = 0;
  object_handle ready;
};

/// Throw usage_error that names `what` for absurd values.
[[nodiscard]] head::class_spec spec_of(const task_options& options, const std::string& what);
[[nodiscard]] head::class_spec spec_of(const actor_options& options, const std::string& what);

/// Throws usage_error for what makes no sense, or is not possible in one process.
void check_task_options(const task_options& options, const std::string& what);
void check_actor_options(const actor_options& options, const actor_state& state);

}  // namespace ray::detail
