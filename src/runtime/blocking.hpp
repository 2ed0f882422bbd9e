/// A thread that blocks: lends its slot, can be interrupted by cancellation, sleeps on its parker.
///
/// `sleep_until(done, deadline)` is the one way in which the library waits for something that
/// another task has to do: for objects, queues, streams and barriers alike.
#pragma once

#include "base/parker.hpp"
#include "exec/pool.hpp"
#include "exec/thread_record.hpp"
#include "runtime/core.hpp"
#include "runtime/interrupts.hpp"
#include "runtime/scheduling.hpp"

#include <ray/duration.hpp>

#include <chrono>
#include <optional>
#include <string>

namespace ray::detail {

using deadline_type = std::optional<std::chrono::steady_clock::time_point>;

/// When `timeout` from now ends; nothing for `forever`, and for times beyond the clock's range.
[[nodiscard]] deadline_type deadline_after(duration timeout) noexcept;

/// Throws cancelled_error or timeout_error when the task that this thread runs was ended early, or
/// when the session ends.
void throw_if_interrupted();

/// Throws usage_error on a thread that must not wait: the courier's.
void require_may_block();

class blocking {
 public:
  blocking();
  blocking(const blocking&) = delete;
  blocking& operator=(const blocking&) = delete;
  ~blocking();

  [[nodiscard]] parker& sleeper() noexcept { return record_.parker; }

  /// Sleeps until `done()` is true, looking again at each wake-up of `sleeper()`. False when the
  /// deadline passed first. Throws when interrupted. `describe` names what is waited for, in the
  /// log, when it takes more than 10 seconds.
  template <typename Done, typename Describe>
  bool sleep_until(Done done, const deadline_type& deadline, Describe describe) {
    const auto started = std::chrono::steady_clock::now();
    bool told = false;
    while (!done()) {
      throw_if_interrupted();
      deadline_type until = deadline;
      if (!told && (!until || *until > started + patience)) until = started + patience;
      if (!until) {
        sleeper().park();
      } else if (!sleeper().park_until(*until)) {
        if (deadline && *until == *deadline) return done();
        told = true;
        log_long_wait(describe());
      }
    }
    return true;
  }

 private:
  static constexpr std::chrono::seconds patience{10};
  static void log_long_wait(const std::string& what);

  exec::thread_record& record_;
  task* owner_;
  interrupts::registration registration_;
  bool lent_;
  exec::blocking_region region_;
};

}  // namespace ray::detail
