/// What the library knows of a thread: its parker, the pool's worker it runs, the room on its
/// stack.
///
/// A record is made when a thread first needs one and goes to a free list when the thread ends. The
/// memory is never given back, so that a late wake-up of a thread that is gone touches valid
/// memory.
#pragma once

#include "base/parker.hpp"

#include <cstdint>

namespace ray::detail::exec {

class worker;

struct thread_record {
  detail::parker parker;
  // The worker of a pool thread; of another one while it has a token of the pool, to run a task on
  // the spot. Else null.
  worker* running = nullptr;
  worker* guest = nullptr;         // what such a thread runs as, kept for the next time
  std::uint64_t guest_of = 0;      // the number of its pool
  std::uintptr_t stack_limit = 0;  // nested tasks begin above it: the rest is for the task itself
  thread_record* next_free = nullptr;

  [[nodiscard]] bool has_stack_room() const noexcept {
    return reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)) > stack_limit;
  }
};

extern constinit thread_local thread_record* current_record;  // null before the first use
[[nodiscard]] thread_record& adopt_thread();

/// This thread's record. Valid until the thread's last thread-local destructor has run.
[[nodiscard]] inline thread_record& this_thread() {
  return current_record != nullptr ? *current_record : adopt_thread();
}

}  // namespace ray::detail::exec
