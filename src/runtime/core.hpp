/// The runtime of this process: the one place where the engines and the machines meet.
///
/// There is one core, made when first used and never destroyed, so that a thread that races with
/// the end of a session touches valid memory; a session starts and stops it. Everything here is
/// type-erased: the templates of the public headers end at these calls.
#pragma once

#include "exec/pool.hpp"
#include "runtime/courier.hpp"
#include "runtime/interrupts.hpp"
#include "runtime/scheduling.hpp"
#include "runtime/session_options.hpp"
#include "runtime/timers.hpp"
#include "store/object_store.hpp"

#include <ray/detail/runtime/task.hpp>
#include <ray/id.hpp>

#include <atomic>
#include <memory>
#include <mutex>

namespace ray::detail {

/// The task that this thread runs, or null; of nested ones the innermost.
extern constinit thread_local task* current_task;

class core {
 public:
  [[nodiscard]] static core& get() noexcept {
    core* one = instance_.load(std::memory_order_acquire);
    return one != nullptr ? *one : make();
  }

  /// The same, where a session runs or has run.
  [[nodiscard]] static core& running_one() noexcept {
    return *instance_.load(std::memory_order_relaxed);
  }

  /// Starts a session and returns its number, from 1. Throws usage_error when one runs.
  std::uint64_t start(runtime::session_options options);
  /// Ends it: what waits ends with usage_error, what runs is asked to stop and joined. Does nothing
  /// when none runs, or another than that with the number.
  void stop(std::uint64_t number = any_session) noexcept;
  static constexpr std::uint64_t any_session = 0;

  [[nodiscard]] static bool running() noexcept { return session_runs(); }
  /// True from the moment when the session begins to end.
  [[nodiscard]] static bool stopping() noexcept { return !session_runs(); }

  /// The session's store, or null. Shared with the values that it tracks, which may outlive the
  /// session in views.
  [[nodiscard]] std::shared_ptr<store::object_store> objects() noexcept {
    const std::lock_guard lock(objects_mutex_);
    return objects_;
  }

  /// Threads of the user's that run tasks or calls on the spot; the session's end waits for them.
  class helping {
   public:
    explicit helping(core& runtime) noexcept : runtime_(runtime) {
      // Either this sees that the session ends, or the end sees it counted.
      runtime_.helpers_.fetch_add(1, std::memory_order_seq_cst);
      allowed_ = session_flag.load(std::memory_order_seq_cst);
    }
    helping(const helping&) = delete;
    helping& operator=(const helping&) = delete;
    ~helping() {
      if (runtime_.helpers_.fetch_sub(1, std::memory_order_seq_cst) == 1 && !session_runs()) {
        runtime_.helpers_.notify_all();
      }
    }
    [[nodiscard]] explicit operator bool() const noexcept { return allowed_; }

   private:
    core& runtime_;
    bool allowed_;
  };

  bool has_tokens = true;  // less than one CPU is none
  exec::pool pool;
  interrupts interruptions;
  timers clock;
  courier messenger;
  scheduling scheduler;
  runtime::session_options options;
  node_id node;
  job_id job;

 private:
  core() = default;
  [[nodiscard]] static core& make() noexcept;
  void set_objects(std::shared_ptr<store::object_store> objects) noexcept {
    const std::lock_guard lock(objects_mutex_);
    objects_.swap(objects);
  }

  static std::atomic<core*> instance_;

  enum class phase { stopped, starting, running, stopping };
  std::atomic<phase> phase_{phase::stopped};
  std::atomic<int> helpers_{0};
  std::atomic<std::uint64_t> session_{0};  // the last that was started
  std::mutex objects_mutex_;
  std::shared_ptr<store::object_store> objects_;
};

}  // namespace ray::detail
