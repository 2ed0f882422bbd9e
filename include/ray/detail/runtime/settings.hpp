/// Options of calls, checked and shared by all calls that are made with them.
#pragma once

#include <ray/options.hpp>

#include <memory>

namespace ray::detail {

struct call_settings;

/// Never throws usage_error: absurd options are refused where they are used.
[[nodiscard]] std::shared_ptr<const call_settings> make_settings(task_options options);

}  // namespace ray::detail
