/// Who started whom: a task holds the task that made it, so that cancelling one reaches what it has
/// started, and cancellation itself.
#pragma once

#include <ray/detail/runtime/task.hpp>

#include <exception>

namespace ray::detail {

/// The nearest of `one` and its ancestors that has not ended, with a reference, or null.
[[nodiscard]] task* living_ancestor(task* one) noexcept;

/// Gives `one` another parent, whose reference it takes over; drops its hold on the old one.
void replace_parent(task* one, task* parent) noexcept;

/// Whether `ancestor` started `one`, directly or not.
[[nodiscard]] bool descends_from(task* one, const task* ancestor) noexcept;

/// Ends the task as cancelled when an ancestor was cancelled with its children; whether it did, or
/// found it cancelled.
bool end_if_cancelled(task* one) noexcept;

/// Ends a task before its function has returned, with its descendants if `recursive`: the future
/// ends now, a function that runs is asked to stop, one that nobody has begun never runs.
void end_early(task* one, std::exception_ptr error, bool recursive) noexcept;

}  // namespace ray::detail
