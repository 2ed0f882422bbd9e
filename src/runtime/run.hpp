/// Running a plain task: the path that must be short. Everything that a task may need beyond it is
/// behind `run_special` and `complete` (task.cpp).
#pragma once

#include "runtime/core.hpp"
#include "runtime/task_extra.hpp"

#include <utility>

namespace ray::detail {

/// Runs a claimed task with options, one that can be suspended, or in a session that ends or
/// cancels. False when it is suspended.
[[nodiscard]] bool run_special(task* one, std::uint64_t references) noexcept;

/// The end of a task whose function has run for the last time; drops `references` and its credits.
void complete(task* one, outcome how, std::uint64_t references) noexcept;

/// Runs a task whose claim the caller has won. `references` is 1 when the caller also has the
/// queue's reference, else 0. False when the task is suspended: `finish_suspended` follows.
inline bool run_claimed(task* one, std::uint64_t references) noexcept {
  const auto& attention = core::running_one().interruptions.attention;
  const block_operations& operations = one->operations();
  if (one->extra() != nullptr || operations.may_suspend ||
      attention.load(std::memory_order_relaxed) != 0) [[unlikely]] {
    return run_special(one, references);
  }
  task* const outer = std::exchange(current_task, one);
  const outcome how = operations.run(one);
  current_task = outer;
  if (how != outcome::value || operations.destroy_arguments != nullptr ||
      task_access::parent(one) != outer || one->extra() != nullptr ||
      attention.load(std::memory_order_relaxed) != 0) {
    complete(one, how, references);
  } else {
    one->publish(references + task_access::credits(one));
  }
  return true;
}

}  // namespace ray::detail
