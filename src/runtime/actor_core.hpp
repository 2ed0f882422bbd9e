/// An actor: a mailbox that runs on the pool.
///
/// A call whose arguments are there goes to the queue of its concurrency group; a group runs as
/// many calls at once as its limit says, each a job of the pool that needs no token. A thread that
/// ends a call goes on with the next. Calls of one caller begin in the order made: one that waits
/// for an argument holds back the later ones of its caller (a *lane*), and no others.
///
/// The head's machine decides whether, where and as which incarnation the actor lives; its answers
/// arrive at `answer`.
#pragma once

#include "head/messages.hpp"
#include "runtime/image.hpp"

#include <ray/detail/exec/job.hpp>
#include <ray/detail/runtime/actor_state.hpp>
#include <ray/detail/runtime/task.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace ray::detail {

class actor_core {
 public:
  actor_core(actor_options options, std::unique_ptr<actor_state> state);

  // Memory: whoever has a pointer holds a reference; all handles together hold one.
  static void retain(actor_core* one) noexcept {
    one->references_.fetch_add(1, std::memory_order_relaxed);
  }
  static void release(actor_core* one) noexcept;
  void add_handle() noexcept { handles_.fetch_add(1, std::memory_order_relaxed); }
  [[nodiscard]] bool try_add_handle() noexcept;
  void drop_handle() noexcept;

  // Calls, from the task's side.
  static void no_longer_pending(task* call) noexcept;
  static void accept(task* call) noexcept;
  static void arguments_ready(task* call) noexcept;
  static void execute_call(task* call) noexcept;
  [[nodiscard]] static bool run_call_inline(task* call) noexcept;
  static void call_ended(actor_core* actor, std::uint32_t group, task* call) noexcept;
  /// A call that has been undone goes to the next incarnation, before those that have not begun.
  static void take_back(task* call, std::uint64_t references) noexcept;
  void reserve_call(task* call, const call_options* options);

  /// Whether it is a call, not begun, of the actor whose method runs on this thread.
  [[nodiscard]] static bool is_own_unbegun_call(object* one) noexcept;

  /// While a method blocks on an unbegun call of its own actor: throws usage_error when that call
  /// could never begin.
  class own_call_guard {
   public:
    explicit own_call_guard(object* target);
    ~own_call_guard();
    own_call_guard(const own_call_guard&) = delete;
    own_call_guard& operator=(const own_call_guard&) = delete;

   private:
    actor_core* actor_ = nullptr;
    std::uint32_t group_ = 0;
  };

  // Life.
  void start(task* creation);
  void answer(const head::effect& what) noexcept;
  /// The handle is exchanged for one of `other`, found by `get_if_exists`.
  void stand_for(actor_core* other) noexcept;
  [[nodiscard]] actor_core* stood_for() const noexcept { return stood_for_; }
  void kill(bool restart);
  void exit() noexcept;
  /// The constructor threw: the error that its future and all calls get.
  [[nodiscard]] std::exception_ptr constructor_failed(const std::exception_ptr& error);
  /// The handle was exchanged: the constructor never runs.
  void abandon() noexcept;
  /// The session ends: what waits ends; `end_state` destroys the state when nothing runs any more.
  void end_session() noexcept;
  void end_state() noexcept;

  [[nodiscard]] const actor_id& id() const noexcept { return id_; }
  [[nodiscard]] actor_state& state() noexcept { return *state_; }
  [[nodiscard]] const actor_options& options() const noexcept { return options_; }
  [[nodiscard]] const object_handle& ready() const noexcept { return creation_; }
  [[nodiscard]] bool holds_cpu() const noexcept { return options_.num_cpus.units() > 0; }
  [[nodiscard]] head::class_id cls() const noexcept { return cls_; }
  [[nodiscard]] std::string describe() const;

 private:
  struct call_group {
    std::string name;
    int limit = 1;
    int running = 0;
    int waiting_for_own = 0;  // running calls that block on an unbegun call of this group
    std::deque<task*> queue;
  };
  enum class phase {
    waiting,   // for its place, or for its constructor's arguments
    starting,  // the constructor runs
    alive,
    stopping,  // this incarnation ends when what runs has returned
    ended,
  };

  // All with `mutex_` held; what they collect is started or failed after it is released.
  struct aftermath {
    std::vector<task*> started;
    std::vector<task*> failed;
    std::vector<task*> stopped;      // running calls whose futures end, each with a reference
    std::vector<task*> interrupted;  // running calls that will be repeated, each with a reference
    bool start_life = false;         // the constructor, or the end of the state, is due
    bool creation_failed = false;    // unless it has ended, the constructor's future fails
    bool unreferenced = false;
  };
  void deliver(aftermath& after) noexcept;
  void enqueue(task* call, aftermath& after);
  void start_calls(call_group& group, aftermath& after);
  void settle(aftermath& after) noexcept;
  void begin_stop(const std::string& reason, aftermath& after);
  void fail_queued(aftermath& after);
  void end_books(const std::string& reason, aftermath& after);

  [[nodiscard]] task* next_call(std::uint32_t group, task* ended) noexcept;
  static void execute_life(exec::job* item) noexcept;
  void run_constructor() noexcept;
  [[nodiscard]] std::exception_ptr construct_again() noexcept;
  void stop_state() noexcept;
  void take_checkpoint(const task* ended) noexcept;
  void forget_creation() noexcept;
  void begin_call(call_group& group, task* call);
  void end_call(call_group& group, task* call);
  [[nodiscard]] std::chrono::steady_clock::time_point next_checkpoint() const noexcept;
  [[nodiscard]] std::exception_ptr death() const;

  struct life_job : exec::job {
    explicit life_job(actor_core* one) : exec::job(execute_life), actor(one) {}
    actor_core* actor;
  };

  const actor_id id_;
  const actor_options options_;
  const std::unique_ptr<actor_state> state_;
  std::atomic<std::int64_t> references_{1};
  std::atomic<std::int64_t> handles_{1};
  std::atomic<std::size_t> pending_calls_{0};  // made and not begun; counted when there is a limit
  object_handle creation_;
  actor_core* stood_for_ = nullptr;
  life_job life_{this};

  mutable std::mutex mutex_;
  // All below: under `mutex_`.
  phase phase_ = phase::waiting;
  bool placed_ = false;
  bool holds_itself_ = false;      // detached: it has a handle of its own, until it is over
  bool creation_ready_ = false;    // its arguments are there
  bool creation_dropped_ = false;  // it never runs: its reference goes when they are
  bool stop_after_call_ = false;   // exit_actor was called
  bool can_restart_ = true;        // false: it ended itself
  bool infeasible_ = false;        // no node could ever take it
  bool over_ = false;              // the machine said that there is no next incarnation
  bool life_queued_ = false;       // `life_` is in the pool's queue
  bool unreferenced_told_ = false;
  std::int64_t incarnation_ = 0;
  head::class_id cls_;
  std::string reason_;  // why it stops or has ended
  std::vector<call_group> groups_;
  std::map<std::uint64_t, std::deque<task*>> lanes_;  // by caller: calls held back
  std::vector<task*> running_;  // each with a reference: their futures may end before they do
  void* creation_copy_ = nullptr;
  std::optional<image> checkpoint_;
  std::chrono::steady_clock::time_point checkpoint_due_{};
};

}  // namespace ray::detail
