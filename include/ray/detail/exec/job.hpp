/// A job: what the pool runs. One function pointer, embedded in whatever carries the work (a task's
/// block, an actor's call), so that queueing allocates nothing.
#pragma once

namespace ray::detail::exec {

struct job {
  using function = void (*)(job*) noexcept;

  explicit constexpr job(function run_function) noexcept : execute(run_function) {}

  /// Called once for each time the job was pushed, on a pool thread, or on the thread that shuts
  /// the pool down for what was never begun.
  function execute;
};

}  // namespace ray::detail::exec
