/// State that several tasks share and wait on: a lock and the threads that sleep until it changes.
#pragma once

#include <ray/detail/runtime/task.hpp>
#include <ray/duration.hpp>

#include <mutex>
#include <vector>

namespace ray::detail {

class parker;

class meeting {
 public:
  /// Calls `attempt()` under the lock until it returns true, sleeping in between until something
  /// has changed; then wakes the others. False when the timeout passed first.
  template <typename Attempt>
  bool wait(duration timeout, const char* what, Attempt attempt) {
    return wait_until(
        timeout, what, [](void* context) { return (*static_cast<Attempt*>(context))(); }, &attempt);
  }

  /// Calls `attempt()` once under the lock; wakes those who wait when it returns true.
  template <typename Attempt>
  bool change(Attempt attempt) {
    const std::lock_guard lock(mutex_);
    const bool changed = attempt();
    if (changed) wake_all();
    return changed;
  }

 private:
  bool wait_until(duration timeout, const char* what, bool (*attempt)(void*), void* context);
  void wake_all() noexcept;

  std::mutex mutex_;
  std::vector<parker*> sleepers_;  // under `mutex_`; parkers are never freed
};

[[noreturn]] void throw_empty_handle(const char* what);
[[noreturn]] void throw_queue_closed();
[[noreturn]] void throw_queue_timeout(const char* what, duration timeout);

}  // namespace ray::detail
