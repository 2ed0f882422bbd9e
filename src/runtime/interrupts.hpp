/// What can be interrupted: threads that block inside a task, and tasks that have given out a stop
/// token. Cancelling a task finds here the descendants that it must reach.
#pragma once

#include "base/parker.hpp"

#include <ray/detail/runtime/task.hpp>

#include <atomic>
#include <mutex>
#include <stop_token>

namespace ray::detail {

class interrupts {
 public:
  /// A link in the list: while it is there, `owner` runs and so stays valid.
  struct registration {
    task* owner = nullptr;
    parker* sleeper = nullptr;  // woken when the owner is to stop
    // Of a suspended coroutine, called then: `win` with the list locked; if it returns true,
    // `resume` without, before which the registration cannot go.
    bool (*win)(void*) noexcept = nullptr;
    void (*resume)(void*) noexcept = nullptr;
    void* context = nullptr;
    std::stop_source* source = nullptr;  // asked to stop then
    registration* next = nullptr;
    registration* previous = nullptr;
  };

  void add(registration& one) noexcept;
  void remove(registration& one) noexcept;

  /// Ends every registered descendant of `ancestor` as cancelled, and asks it and them to stop.
  void reach_descendants(task* ancestor) noexcept;
  /// Asks the registered parts of one task to stop.
  void reach(task* one) noexcept;
  /// Asks all to stop: the session ends.
  void reach_all() noexcept;

  /// How many cancelled tasks live whose children are to be cancelled, and one while no session
  /// runs. While it is zero, tasks need not look around before they begin. Relaxed: a task that
  /// misses the change looks when it ends.
  std::atomic<std::int64_t> attention{1};

 private:
  template <typename Predicate>
  void reach_if(Predicate wanted) noexcept;

  std::mutex mutex_;
  registration* first_ = nullptr;
};

}  // namespace ray::detail
