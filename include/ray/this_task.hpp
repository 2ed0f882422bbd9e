/// `ray::this_task`: what the running task knows of itself. Outside a task it speaks of the driver,
/// and throws usage_error without a session.
#pragma once

#include <ray/id.hpp>

#include <map>
#include <stop_token>
#include <string>
#include <vector>

namespace ray::this_task {

/// Unique in the cluster; of the driver its job's.
[[nodiscard]] task_id id();
/// The task's name: from its options, else its function's. Of the driver "driver".
[[nodiscard]] std::string name();
/// 0 the first time, 1 for the first retry.
[[nodiscard]] int attempt();
/// Where it runs.
[[nodiscard]] node_id node();
/// Asked to stop when the task is cancelled, takes longer than its timeout, or the session ends.
[[nodiscard]] std::stop_token stop_token();
/// Ordinals of the devices of this task's slot; empty without one.
[[nodiscard]] std::vector<int> gpu_ids();
/// What the task asked for: "CPU", "GPU", "memory" and custom names.
[[nodiscard]] std::map<std::string, double> resources();

}  // namespace ray::this_task
