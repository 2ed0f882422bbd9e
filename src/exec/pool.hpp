/// The work-stealing pool: threads, the CPU tokens that they run under, and how they find work,
/// sleep and wake.
///
/// Threads are not slots. A *token* is the right to use one CPU; the pool has as many as its owner
/// deposits. A *job* pushed with `push` runs under a token, one pushed with `push_free` needs none
/// (it holds resources of another kind, or none). A thread that blocks gives its token to another,
/// which is started if need be, and goes on at once when its wait ends, one over the limit; the
/// next thread to end a job then gives its token up. While a free job runs on a thread that has a
/// token, the token is *lendable*: a monitor takes it away when the job is still there at its next
/// tick and work waits (as the system monitor of Go's scheduler takes processors from system
/// calls).
///
/// Sleeping is two-phase: a thread announces itself idle, fences, and looks once more before it
/// parks; whoever pushes a job looks for idle threads after it. The fence is asymmetric, so a push
/// pays only a load. At most one woken thread searches at a time, and wakes the next when it finds
/// something.
#pragma once

#include "base/asymmetric_fence.hpp"
#include "base/parker.hpp"
#include "exec/deque.hpp"
#include "exec/thread_record.hpp"

#include <ray/detail/exec/job.hpp>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>

namespace ray::detail::exec {

class pool;

/// One thread of the pool and its deque; also what a thread of the user's runs as while it has a
/// token, so that the tasks that it starts meanwhile are queued and joined as everywhere.
class worker {
 public:
  enum class token_state : std::uint8_t { none, held, lendable };

  /// Whether the thread has a token that nobody can take away.
  [[nodiscard]] bool holds_token() const noexcept {
    return token_.load(std::memory_order_relaxed) == token_state::held;
  }

  // By the thread itself, which holds a token:
  [[nodiscard]] bool is_newest(const job* item) const noexcept { return jobs_.is_newest(item); }
  /// Takes out the newest; null when a thief has it, or there is none.
  [[nodiscard]] job* pop() noexcept { return jobs_.pop(); }
  /// Puts back what `pop` gave.
  void put_back(job* item) { jobs_.push(item); }

  /// Jobs of the deque that were run without taking them out, about: only a hint.
  std::uint32_t stale_jobs = 0;

 private:
  friend class pool;
  friend class blocking_region;
  friend class token_region;
  friend class free_region;

  explicit worker(pool& owner) : pool_(&owner) {}

  deque jobs_;
  // Held or none as long as only this thread looks; `lendable` may become `none` by the monitor's
  // compare-exchange. Whoever moves it to `none` gives the token back.
  std::atomic<token_state> token_{token_state::none};
  std::atomic<std::uint32_t> free_jobs_begun_{0};  // written by the worker; the monitor compares
  // For the idle list alone: who takes the worker off it leaves one permit. The thread's own parker
  // may hold permits that are left over from waits of its jobs.
  parker parker_;
  pool* pool_;
  std::uint64_t random_ = 0;
  std::uint32_t ticks_ = 0;
  std::uint32_t seen_free_jobs_ = 0;  // the monitor's copy of `free_jobs_begun_`
  std::size_t place_ = 0;             // in the pool's list
  bool idle_ = false;                 // in the idle list; guarded by the pool's mutex
  bool permanent_ = false;            // one of the first threads, which never retire
  bool guest_ = false;                // of a thread of the user's
};

class pool {
 public:
  struct hooks {
    /// A token that was asked back has come free and is the caller's now.
    void (*token_returned)(void* context) noexcept = nullptr;
    /// A token that is wanted if idle (`want_idle`) has become so: `withdraw_idle` may find it.
    void (*token_idle)(void* context) noexcept = nullptr;
    /// The first job that needs a token was pushed since `want_work`.
    void (*work_came)(void* context) noexcept = nullptr;
    void* context = nullptr;
  };

  pool();
  pool(const pool&) = delete;
  pool& operator=(const pool&) = delete;
  ~pool();

  /// Starts `threads` threads and no tokens. Up to `most` are started when tokens and work ask for
  /// them; only threads that block or run free jobs can make them more.
  void start(std::size_t threads, std::size_t most, hooks callbacks);

  /// Queues a job that needs a token: on this thread's deque, from outside on the injection queue.
  void push(job* item) {
    worker* self = this_worker();
    if (self != nullptr && self->pool_ == this) [[likely]] {
      self->jobs_.push(item);
    } else {
      inject(item);
    }
    notify();
  }
  /// Queues a job that needs none. `urgent` adds a thread at once when all are busy, else the
  /// monitor does so after some milliseconds.
  void push_free(job* item, bool urgent = false);
  /// Adds tokens. Returns how many were asked back, and so are the caller's again.
  std::int64_t deposit(std::int64_t count);
  /// Takes up to `most` tokens that nobody holds and no job waits for; returns how many.
  std::int64_t withdraw_idle(std::int64_t most);
  /// Asks for `count` tokens of threads that run jobs: each is reported by `token_returned` when
  /// its thread ends its job. Replaces what was asked before. Returns how many came at once.
  std::int64_t ask_back(std::int64_t count);
  /// From now on `token_idle` says when a token comes free that has no work; 0 ends that.
  void want_idle(std::int64_t count) noexcept;
  /// Has `work_came` called once, when there is a job for a token.
  void want_work();

  /// Ends all threads when the jobs that they run have returned, then executes on this thread what
  /// is still queued. From here on to the next `start`, whoever pushes a job executes it as well.
  /// No guest may have a token.
  void stop();

  /// Tokens that nobody holds now.
  [[nodiscard]] std::int64_t idle_tokens() const noexcept {
    return std::max<std::int64_t>(0, tokens_.load(std::memory_order_relaxed));
  }
  [[nodiscard]] std::size_t thread_count() const noexcept {
    return live_threads_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] static worker* this_worker() { return this_thread().running; }

 private:
  friend class blocking_region;
  friend class token_region;
  friend class free_region;
  struct queues;
  struct threads;

  void inject(job* item);
  void notify() {
    // Pairs with the heavy one of whoever sleeps, gives a token up or sets a signal: either this
    // push sees that, or it sees the job.
    light_fence();
    const std::uint64_t signals = signals_.load(std::memory_order_relaxed);
    if ((signals & attention) != 0) [[unlikely]]
      notify_slowly(signals);
  }
  [[nodiscard]] worker* guest_worker(thread_record& record);
  worker* add_worker();
  void run_worker(worker& self);
  job* next_job(worker& self);
  job* search(worker& self);
  job* steal(worker& self);
  void run(worker& self, job* item, bool free);
  bool park(worker& self);
  void leave_search();
  bool try_acquire_token(worker& self) noexcept;
  bool try_take_token() noexcept;
  void give_token();
  void offer_idle_token();
  void tell_of_work();
  [[nodiscard]] bool token_work_pending() const;
  [[nodiscard]] bool free_work_pending() const;
  void notify_slowly(std::uint64_t signals);
  void grow();
  bool wake_one();
  bool add_thread(bool permanent = false);
  void wake_or_add();
  void arm_monitor();
  void join_ended();
  void run_monitor();
  bool monitor_tick();
  [[nodiscard]] bool token_is_wanted() const;
  [[nodiscard]] bool any_lendable() const;
  [[nodiscard]] bool somebody_searches() const;
  void drain();

  // The state that a push must look at, in one word: how many threads are idle, how many search,
  // whether free jobs have run lately (then a push arms the monitor), whether the pool is stopped,
  // whether a push that finds no idle thread may have to add one, whether the owner wants to hear
  // of the next.
  static constexpr std::uint64_t one_idle = 1, idle_mask = 0xffff;
  static constexpr std::uint64_t one_searching = 0x10000, searching_mask = 0xffff0000;
  static constexpr std::uint64_t free_jobs_ran = std::uint64_t{1} << 32;
  static constexpr std::uint64_t stopped = std::uint64_t{1} << 33;
  static constexpr std::uint64_t may_grow = std::uint64_t{1} << 34;
  static constexpr std::uint64_t work_wanted = std::uint64_t{1} << 35;
  static constexpr std::uint64_t attention =
      idle_mask | free_jobs_ran | stopped | may_grow | work_wanted;
  alignas(64) std::atomic<std::uint64_t> signals_{stopped};
  // Tokens that nobody holds. Below zero: as many are owed to threads that resumed from a wait
  // or are asked back, and threads give theirs up between jobs.
  std::atomic<std::int64_t> tokens_{0};
  std::atomic<std::int64_t> blocked_{0};  // threads that sleep in a wait and have given a token up
  std::atomic<std::int64_t> idle_wanted_{0};  // tokens that the owner wants if they are idle
  std::atomic<bool> stopping_{false};
  std::atomic<std::size_t> live_threads_{0};
  std::size_t wanted_threads_ = 0;
  std::uint64_t number_;  // of this pool in the process; never used again
  alignas(64) hooks hooks_;
  std::unique_ptr<queues> queues_;
  std::unique_ptr<threads> threads_;
};

/// While it lives, this thread is about to sleep: its token, if it has one, goes to another thread.
class blocking_region {
 public:
  blocking_region();
  blocking_region(const blocking_region&) = delete;
  blocking_region& operator=(const blocking_region&) = delete;
  ~blocking_region();

 private:
  thread_record& record_;
  pool* pool_ = nullptr;  // whose token was given up
  worker::token_state before_ = worker::token_state::none;
};

/// The right to run a token job on this thread now; asks the pool for a token unless it has one.
class token_region {
 public:
  explicit token_region(pool& owner);
  token_region(const token_region&) = delete;
  token_region& operator=(const token_region&) = delete;
  ~token_region();
  [[nodiscard]] explicit operator bool() const noexcept { return state_ != state::refused; }

 private:
  enum class state : std::uint8_t { refused, had_it, from_pool, as_guest, was_lendable };
  pool& pool_;
  thread_record& record_;
  state state_;
};

/// While it lives, this thread runs a free job: a token that it holds can be taken by the monitor.
class free_region {
 public:
  explicit free_region(worker* self);
  free_region(const free_region&) = delete;
  free_region& operator=(const free_region&) = delete;
  ~free_region();

 private:
  worker* worker_;
  bool lent_ = false;
};

}  // namespace ray::detail::exec
