/// What an attempt of a task needs beyond running its function: timers, retries, slots. Only tasks
/// with an extra part, or in a session that ends or cancels, come here.
#pragma once

#include <ray/detail/runtime/task.hpp>

#include <exception>

namespace ray::detail {

/// Prepares the attempt that begins now; false when the task has ended, or was ended here.
[[nodiscard]] bool begin_attempt(task* one) noexcept;

/// Whether another attempt is left, and the arguments for it.
[[nodiscard]] bool may_repeat(task* one) noexcept;

/// Whether the error is worth another attempt; then the arguments are there again.
[[nodiscard]] bool try_again(task* one, const std::exception_ptr& error) noexcept;

/// Makes an attempt undone: its result goes, its arguments are there again. Ends the task and
/// returns false when they cannot be copied once more.
[[nodiscard]] bool undo_attempt(task* one, outcome how) noexcept;

/// The task's function has returned for the last time: gives back its timer and its slot.
void end_of_attempt(task* one) noexcept;

void destroy_extra(task* one) noexcept;

}  // namespace ray::detail
