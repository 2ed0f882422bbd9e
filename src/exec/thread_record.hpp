/// What the library knows of a thread: its parker, the pool's worker it runs, the room on its
/// stack.
///
/// A record is made when a thread first needs one and goes to a free list when the thread ends. The
/// memory is never given back, so that a late wake-up of a thread that is gone touches valid
/// memory.
#pragma once

#include "base/parker.hpp"

#include <cstddef>
#include <cstdint>

namespace ray::detail::exec {

class pool;
class worker;

struct thread_record {
  detail::parker parker;
  worker* running = nullptr;      // the worker of a pool thread, else null
  pool* borrowed_from = nullptr;  // on other threads: whose token it has, to run a task inline
  std::uintptr_t stack_low = 0;
  std::size_t stack_size = 0;
  thread_record* next_free = nullptr;

  /// Whether a nested task may begin here: a quarter of the stack stays for the task itself.
  [[nodiscard]] bool has_stack_room() const noexcept {
    const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
    return here > stack_low && here - stack_low > stack_size / 4;
  }
};

/// This thread's record. Valid until the thread's last thread-local destructor has run.
[[nodiscard]] thread_record& this_thread();

}  // namespace ray::detail::exec
