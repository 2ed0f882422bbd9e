/// What only tasks with options, actors' calls and coroutines need: allocated when first wanted.
#pragma once

#include "head/messages.hpp"
#include "runtime/interrupts.hpp"
#include "runtime/timers.hpp"

#include <ray/detail/runtime/settings.hpp>
#include <ray/options.hpp>

#include <atomic>
#include <memory>
#include <optional>
#include <stop_token>

namespace ray::detail {

/// Options of calls, checked once, with what the scheduler makes of them.
struct call_settings {
  /// `plain` needs one CPU and nothing else, `free` nothing at all, `classed` asks the scheduler.
  enum class need { plain, free, classed };

  explicit call_settings(task_options given);
  call_settings(const call_settings&) = delete;
  call_settings& operator=(const call_settings&) = delete;
  ~call_settings();

  const task_options options;
  need resources = need::plain;
  // The class in the session that first used the settings; guarded by the scheduler's lock.
  mutable head::class_id cls = {};
  mutable std::uint64_t session = 0;
};

class actor_core;

struct task_extra {
  std::shared_ptr<const call_settings> settings;
  actor_core* actor = nullptr;       // of an actor's call; the call keeps it alive
  std::uint32_t group = 0;           // its concurrency group
  std::uint64_t caller = 0;          // who called; orders the calls
  bool creates_actor = false;        // the actor's constructor
  bool arguments_arrived = false;    // of a call; under the actor's lock
  std::atomic<bool> pending{false};  // counted among the actor's pending calls
  std::atomic<int> attempt{0};       // its actor reads it while it runs
  void* arguments_copy = nullptr;    // for another attempt
  head::class_id cls;                // of a classed task
  bool holds_slot = false;
  std::optional<timers::ticket> timer;
  std::optional<std::stop_source> stop;
  interrupts::registration stop_registration;
};

/// The private parts of a task, for the runtime's own files.
struct task_access {
  static std::atomic<std::int32_t>& unready(task* one) noexcept { return one->unready_; }
  static std::uint32_t& credits(task* one) noexcept { return one->credits_; }
  static task*& parent(task* one) noexcept { return one->parent_; }
  static std::atomic<task_extra*>& extra(task* one) noexcept { return one->extra_; }
  static std::atomic<std::uint64_t>& word(task* one) noexcept { return one->word_; }
  static bool& arguments_gone(task* one) noexcept { return one->arguments_gone_; }
};

/// The task's extra part, made if there is none.
[[nodiscard]] task_extra& extra_of(task* one);

/// Ends a suspended task: its value stands in its storage, or it has ended otherwise (`failed`), or
/// its function has thrown `error`.
void finish_suspended(task* one, outcome how, std::exception_ptr error = nullptr) noexcept;

/// Gives a task whose arguments are ready to the pool, its class or its actor.
void make_runnable(task* one) noexcept;

[[nodiscard]] std::exception_ptr run_again(task* one) noexcept;

/// Ends a task that nobody has begun.
bool fail_unbegun(task* one, std::exception_ptr error) noexcept;

/// "task 'name' (id)", for messages.
[[nodiscard]] std::string describe(object* one);

}  // namespace ray::detail
