#include "exec/pool.hpp"

#include "base/relax_processor.hpp"
#include "base/spinning.hpp"
#include "exec/stack_thread.hpp"

#include <ray/log.hpp>

#include <concurrentqueue/concurrentqueue.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

namespace ray::detail::exec {
namespace {

using namespace std::chrono_literals;

constexpr auto monitor_period = 5ms;
constexpr auto retirement = 10s;
constexpr std::size_t most_threads = 32'768;
// Every so many jobs a thread looks at the shared queues first, so that tasks which keep making
// more tasks do not shut out what comes from outside (Go and Tokio use 61).
constexpr std::uint32_t fairness_interval = 61;

}  // namespace

struct pool::queues {
  moodycamel::ConcurrentQueue<job*> injected;  // token jobs from outside the pool
  moodycamel::ConcurrentQueue<job*> free;      // jobs that need no token
};

struct pool::threads {
  // Written under `mutex`, read by thieves without it: entries below `count` never change.
  std::unique_ptr<std::atomic<worker*>[]> all =
      std::make_unique<std::atomic<worker*>[]>(most_threads);
  std::atomic<std::size_t> count{0};

  std::mutex mutex;
  std::vector<std::unique_ptr<worker>> owned;
  std::vector<stack_thread> handles;  // by worker
  std::vector<std::size_t> retired;   // places of workers whose thread has ended
  // Of retired places that were used again. Joined by the monitor, without a lock: they may still
  // be destroying thread-locals of the user's.
  std::vector<stack_thread> ended;
  std::vector<worker*> idle;  // a stack: the last to sleep has the warmest caches
  std::int64_t owed = 0;      // tokens that are asked back and have not come
  bool warned = false;        // that no thread could be started

  stack_thread monitor;
  parker monitor_parker;
  std::atomic<bool> monitor_armed{false};
};

pool::pool() : queues_(std::make_unique<queues>()), threads_(std::make_unique<threads>()) {
  static std::atomic<std::uint64_t> pools{0};
  number_ = pools.fetch_add(1, std::memory_order_relaxed) + 1;
}

pool::~pool() { stop(); }

void pool::start(std::size_t first_threads, std::size_t most, hooks callbacks) {
  hooks_ = callbacks;
  wanted_threads_ = most;
  stopping_.store(false, std::memory_order_relaxed);
  signals_.store(first_threads < most ? may_grow : 0, std::memory_order_release);
  threads_->monitor = stack_thread([](void* self) { static_cast<pool*>(self)->run_monitor(); },
                                   this, stack_thread::small_stack);
  for (std::size_t i = 0; i < first_threads; ++i) add_thread(true);
}

void pool::inject(job* item) {
  if (!queues_->injected.enqueue(item)) throw std::bad_alloc();
}

void pool::push_free(job* item, bool urgent) {
  if (!queues_->free.enqueue(item)) throw std::bad_alloc();
  light_fence();
  const std::uint64_t signals = signals_.load(std::memory_order_relaxed);
  if ((signals & stopped) != 0) return drain();
  if (somebody_searches()) return;
  if ((signals & idle_mask) != 0 && wake_one()) return;
  if (urgent) {
    add_thread();
  } else {
    arm_monitor();
  }
}

// Waking -----------------------------------------------------------------------------------------

void pool::notify_slowly(std::uint64_t signals) {
  if ((signals & stopped) != 0) return drain();
  if ((signals & work_wanted) != 0) tell_of_work();
  if ((signals & free_jobs_ran) != 0) arm_monitor();
  if (somebody_searches()) return;
  // Who gives a token up later looks for work afterwards, so none is lost here.
  if (tokens_.load(std::memory_order_relaxed) <= 0) return;
  if ((signals & idle_mask) != 0 && wake_one()) return;
  if ((signals & may_grow) != 0) grow();
}

/// Whether a searching thread will find what was just pushed. The last one to leave looks once more
/// (`leave_search`), and the full fences on both sides see to it that it sees the job, or we do not
/// see it search.
bool pool::somebody_searches() const {
  if ((signals_.load(std::memory_order_relaxed) & searching_mask) == 0) return false;
  std::atomic_thread_fence(std::memory_order_seq_cst);
  return (signals_.load(std::memory_order_relaxed) & searching_mask) != 0;
}

void pool::tell_of_work() {
  if ((signals_.fetch_and(~work_wanted, std::memory_order_relaxed) & work_wanted) == 0) return;
  hooks_.work_came(hooks_.context);
}

/// A token is free, and no thread is idle or looks for work: another one is needed if not all that
/// were wanted have begun, or if some sleep in a wait.
void pool::grow() {
  const bool below = thread_count() < wanted_threads_;
  if ((below || blocked_.load(std::memory_order_seq_cst) != 0) && add_thread(below)) return;
  signals_.fetch_and(~may_grow, std::memory_order_seq_cst);
  // Who blocks counts itself before it sets the flag: either we see it, or its flag comes later.
  if (blocked_.load(std::memory_order_seq_cst) != 0) {
    signals_.fetch_or(may_grow, std::memory_order_relaxed);
  }
}

bool pool::wake_one() {
  worker* sleeper = nullptr;
  {
    const std::lock_guard lock(threads_->mutex);
    if (threads_->idle.empty()) return false;
    sleeper = threads_->idle.back();
    threads_->idle.pop_back();
    sleeper->idle_ = false;
    // The woken thread counts as searching from now on, so that the next push wakes nobody else.
    signals_.fetch_add(one_searching - one_idle, std::memory_order_relaxed);
  }
  sleeper->parker_.unpark();
  return true;
}

void pool::wake_or_add() {
  if ((signals_.load(std::memory_order_relaxed) & searching_mask) != 0) return;
  if (!wake_one()) add_thread();
}

/// With the mutex held: a place, a deque and no thread; null when there are too many.
worker* pool::add_worker() {
  auto& all = *threads_;
  const std::size_t place = all.owned.size();
  if (place == most_threads) return nullptr;
  all.handles.reserve(place + 1);
  all.owned.push_back(std::unique_ptr<worker>(new worker(*this)));
  all.handles.emplace_back();
  worker* fresh = all.owned.back().get();
  fresh->place_ = place;
  fresh->random_ = 0x9e3779b97f4a7c15U * (place + 1);
  all.all[place].store(fresh, std::memory_order_relaxed);
  // Release: a thief that sees the count sees the worker.
  all.count.store(place + 1, std::memory_order_release);
  return fresh;
}

worker* pool::guest_worker(thread_record& record) {
  if (record.guest_of == number_) return record.guest;
  const std::lock_guard lock(threads_->mutex);
  if (stopping_.load(std::memory_order_relaxed)) return nullptr;
  worker* fresh = add_worker();
  if (fresh == nullptr) return nullptr;
  fresh->guest_ = true;
  record.guest = fresh;
  record.guest_of = number_;
  return fresh;
}

bool pool::add_thread(bool permanent) {
  auto& all = *threads_;
  const std::lock_guard lock(all.mutex);
  if (stopping_.load(std::memory_order_relaxed)) return false;
  if (all.retired.empty() && add_worker() == nullptr) return false;
  const std::size_t place = all.retired.empty() ? all.owned.size() - 1 : all.retired.back();
  worker* fresh = all.owned[place].get();
  fresh->permanent_ = permanent;
  signals_.fetch_add(one_searching, std::memory_order_relaxed);
  if (all.handles[place].joinable()) {
    all.ended.push_back(std::move(all.handles[place]));
    arm_monitor();
  }
  all.handles[place] = stack_thread(
      [](void* argument) {
        auto* self = static_cast<worker*>(argument);
        self->pool_->run_worker(*self);
      },
      fresh, stack_thread::deep_stack);
  if (!all.handles[place].joinable()) {
    signals_.fetch_sub(one_searching, std::memory_order_relaxed);
    if (!std::exchange(all.warned, true)) {
      log(log_level::warning,
          "the system refuses another thread: work that needs one waits until a thread comes free; "
          "raise the limit on threads (ulimit -u, or the pids limit of the cgroup)");
    }
    if (all.retired.empty()) all.retired.push_back(place);
    return false;
  }
  if (!all.retired.empty()) all.retired.pop_back();
  live_threads_.fetch_add(1, std::memory_order_relaxed);
  return true;
}

// A thread's life --------------------------------------------------------------------------------

void pool::run_worker(worker& self) {
  this_thread().running = &self;
  bool searching = true;
  while (!stopping_.load(std::memory_order_relaxed)) {
    try_acquire_token(self);
    bool free = false;
    job* item = nullptr;
    // Two places to look: what is near, then, having said so, everywhere.
    if (!searching) {
      item = next_job(self);
      if (item == nullptr) {
        signals_.fetch_add(one_searching, std::memory_order_relaxed);
        searching = true;
      }
    }
    if (item == nullptr && queues_->free.try_dequeue(item)) free = true;
    if (item == nullptr) item = search(self);
    if (item == nullptr) {
      if (!park(self)) break;
      continue;
    }
    if (searching) {
      searching = false;
      leave_search();
    }
    run(self, item, free);
  }
  if (searching) signals_.fetch_sub(one_searching, std::memory_order_relaxed);
  if (self.token_.exchange(worker::token_state::none, std::memory_order_relaxed) !=
      worker::token_state::none) {
    give_token();
  }
  this_thread().running = nullptr;
  live_threads_.fetch_sub(1, std::memory_order_relaxed);
  // Last: the place may be another thread's from here on.
  const std::lock_guard lock(threads_->mutex);
  threads_->retired.push_back(self.place_);
}

/// Leaves the searching state having found work: whoever pushed meanwhile woke nobody, so the last
/// searcher does what they would have done.
void pool::leave_search() {
  const std::uint64_t before = signals_.fetch_sub(one_searching, std::memory_order_seq_cst);
  if ((before & searching_mask) != one_searching) return;
  std::atomic_thread_fence(std::memory_order_seq_cst);  // pairs with `somebody_searches`
  const bool free_work = free_work_pending();
  if (!free_work && !token_work_pending()) return;
  if (free_work && (before & idle_mask) != 0 && wake_one()) return;
  if (free_work || (before & free_jobs_ran) != 0) arm_monitor();
  notify_slowly(signals_.load(std::memory_order_relaxed));
}

job* pool::next_job(worker& self) {
  if (self.token_.load(std::memory_order_relaxed) == worker::token_state::none) return nullptr;
  if (++self.ticks_ % fairness_interval == 0) {
    job* item = nullptr;
    if (queues_->injected.try_dequeue(item)) return item;
    if (!self.jobs_.empty() && free_work_pending()) return nullptr;
  }
  return self.jobs_.pop();
}

job* pool::search(worker& self) {
  if (self.token_.load(std::memory_order_relaxed) == worker::token_state::none) return nullptr;
  const int rounds = spinning_helps() ? 16 : 1;
  job* item = nullptr;
  for (int round = 0; round < rounds; ++round) {
    if ((item = self.jobs_.pop()) != nullptr) return item;
    if (queues_->injected.try_dequeue(item)) return item;
    if ((item = steal(self)) != nullptr) return item;
    if (free_work_pending()) return nullptr;
    for (int pause = 0; pause < 32; ++pause) relax_processor();
  }
  return nullptr;
}

job* pool::steal(worker& self) {
  const std::size_t count = threads_->count.load(std::memory_order_acquire);
  // xorshift (Marsaglia, 2003): where to begin, so that thieves spread.
  self.random_ ^= self.random_ << 13;
  self.random_ ^= self.random_ >> 7;
  self.random_ ^= self.random_ << 17;
  std::size_t victim = static_cast<std::size_t>(self.random_ % count);
  for (std::size_t i = 0; i < count; ++i) {
    worker* other = threads_->all[victim].load(std::memory_order_relaxed);
    if (other != &self && !other->jobs_.empty()) {
      if (job* item = other->jobs_.steal()) return item;
    }
    if (++victim == count) victim = 0;
  }
  return nullptr;
}

void pool::run(worker& self, job* item, bool free) {
  if (free) {
    const free_region region(&self);
    item->execute(item);
  } else {
    item->execute(item);
  }
  if (tokens_.load(std::memory_order_relaxed) < 0) [[unlikely]] {
    if (self.token_.exchange(worker::token_state::none, std::memory_order_relaxed) !=
        worker::token_state::none) {
      give_token();
    }
  }
}

/// Sleeps until woken; the thread then searches. False when the thread should end. On entry and on
/// return it counts as searching.
bool pool::park(worker& self) {
  if (self.token_.exchange(worker::token_state::none, std::memory_order_relaxed) !=
      worker::token_state::none) {
    give_token();
  }
  {
    const std::lock_guard lock(threads_->mutex);
    self.idle_ = true;
    threads_->idle.push_back(&self);
    signals_.fetch_add(one_idle - one_searching, std::memory_order_relaxed);
  }
  heavy_fence();  // pairs with the light one of a push: either we see the job, or it sees us
  const bool work = stopping_.load(std::memory_order_relaxed) || free_work_pending() ||
                    (tokens_.load(std::memory_order_relaxed) > 0 && token_work_pending());
  // Takes itself off the idle list; false when somebody did so already and left a permit.
  const auto withdraw_self = [&](bool stays) {
    const std::lock_guard lock(threads_->mutex);
    if (!self.idle_) return false;
    std::erase(threads_->idle, &self);
    self.idle_ = false;
    signals_.fetch_add(stays ? one_searching - one_idle : -one_idle, std::memory_order_relaxed);
    return true;
  };
  if (work && withdraw_self(true)) return true;
  if (!work) offer_idle_token();
  if (self.permanent_ || !self.jobs_.empty()) {
    self.parker_.park();
  } else if (!self.parker_.park_until(std::chrono::steady_clock::now() + retirement)) {
    if (withdraw_self(false)) {
      signals_.fetch_add(one_searching, std::memory_order_relaxed);  // as the caller expects
      return false;
    }
    self.parker_.park();
  }
  return true;
}

bool pool::token_work_pending() const {
  if (queues_->injected.size_approx() != 0) return true;
  const std::size_t count = threads_->count.load(std::memory_order_acquire);
  for (std::size_t i = 0; i < count; ++i) {
    if (!threads_->all[i].load(std::memory_order_relaxed)->jobs_.empty()) return true;
  }
  return false;
}

bool pool::free_work_pending() const { return queues_->free.size_approx() != 0; }

// Tokens -----------------------------------------------------------------------------------------

bool pool::try_take_token() noexcept {
  std::int64_t available = tokens_.load(std::memory_order_relaxed);
  while (available > 0) {
    if (tokens_.compare_exchange_weak(available, available - 1, std::memory_order_relaxed)) {
      return true;
    }
  }
  return false;
}

bool pool::try_acquire_token(worker& self) noexcept {
  if (self.token_.load(std::memory_order_relaxed) != worker::token_state::none) return true;
  if (!try_take_token()) return false;
  self.token_.store(worker::token_state::held, std::memory_order_relaxed);
  return true;
}

void pool::give_token() {
  if (tokens_.fetch_add(1, std::memory_order_seq_cst) >= 0) {
    offer_idle_token();
    return;
  }
  bool returned = false;
  {
    const std::lock_guard lock(threads_->mutex);
    if (threads_->owed > 0) {
      --threads_->owed;
      returned = true;
    }
  }
  if (returned) hooks_.token_returned(hooks_.context);
}

void pool::offer_idle_token() {
  // Who sets the number looks for idle tokens afterwards: one of us sees the other.
  if (idle_wanted_.load(std::memory_order_seq_cst) > 0 &&
      tokens_.load(std::memory_order_seq_cst) > 0 && !token_work_pending()) {
    hooks_.token_idle(hooks_.context);
  }
}

std::int64_t pool::withdraw_idle(std::int64_t most) {
  std::atomic_thread_fence(std::memory_order_seq_cst);  // after `want_idle`
  if (token_work_pending()) return 0;
  std::int64_t taken = 0;
  while (taken < most && try_take_token()) ++taken;
  return taken;
}

std::int64_t pool::ask_back(std::int64_t count) {
  const std::lock_guard lock(threads_->mutex);
  // Who gives a token up below zero waits for the mutex, and so finds the new number.
  const std::int64_t more = count - threads_->owed;
  const std::int64_t before = tokens_.fetch_sub(more, std::memory_order_seq_cst);
  const std::int64_t at_once = more > 0 ? std::clamp<std::int64_t>(before, 0, more) : 0;
  threads_->owed = count - at_once;
  if (threads_->owed > 0) arm_monitor();
  return at_once;
}

void pool::want_idle(std::int64_t count) noexcept {
  idle_wanted_.store(count, std::memory_order_seq_cst);
  if (count > 0) arm_monitor();
}

void pool::want_work() {
  signals_.fetch_or(work_wanted, std::memory_order_relaxed);
  heavy_fence();  // pairs with the light one of a push: it sees the flag, or we its job
  if (token_work_pending()) tell_of_work();
}

std::int64_t pool::deposit(std::int64_t count) {
  std::int64_t asked_back = 0;
  {
    const std::lock_guard lock(threads_->mutex);
    asked_back = std::min(count, threads_->owed);
    threads_->owed -= asked_back;
    tokens_.fetch_add(count, std::memory_order_seq_cst);
  }
  heavy_fence();
  for (std::int64_t i = 0; i < count && token_work_pending(); ++i) {
    if (wake_one()) continue;
    const std::uint64_t signals = signals_.load(std::memory_order_relaxed);
    if ((signals & searching_mask) == 0 && (signals & may_grow) != 0) grow();
    break;
  }
  return asked_back;
}

blocking_region::blocking_region() : record_(this_thread()) {
  worker* self = record_.running;
  if (self == nullptr) return;
  pool_ = self->pool_;
  before_ = self->token_.exchange(worker::token_state::none, std::memory_order_relaxed);
  if (before_ != worker::token_state::none) {
    pool_->give_token();
    // Nobody may be left to be woken: pushes have to add a thread.
    pool_->blocked_.fetch_add(1, std::memory_order_seq_cst);
    pool_->signals_.fetch_or(pool::may_grow, std::memory_order_seq_cst);
  }
  heavy_fence();
  if (pool_->free_work_pending() ||
      (pool_->tokens_.load(std::memory_order_relaxed) > 0 && pool_->token_work_pending())) {
    pool_->wake_or_add();
  }
}

blocking_region::~blocking_region() {
  if (before_ == worker::token_state::none) return;
  pool_->blocked_.fetch_sub(1, std::memory_order_relaxed);
  pool_->tokens_.fetch_sub(1, std::memory_order_relaxed);
  record_.running->token_.store(before_, std::memory_order_relaxed);
}

token_region::token_region(pool& owner)
    : pool_(owner), record_(this_thread()), state_(state::refused) {
  worker* self = record_.running;
  if (self == nullptr) {
    self = pool_.guest_worker(record_);
    if (self == nullptr || !pool_.try_acquire_token(*self)) return;
    record_.running = self;
    state_ = state::as_guest;
    return;
  }
  auto expected = worker::token_state::lendable;
  if (self->token_.load(std::memory_order_relaxed) == worker::token_state::held) {
    state_ = state::had_it;
  } else if (self->token_.compare_exchange_strong(expected, worker::token_state::held,
                                                  std::memory_order_relaxed)) {
    state_ = state::was_lendable;
  } else if (pool_.try_acquire_token(*self)) {
    state_ = state::from_pool;
  }
}

token_region::~token_region() {
  if (state_ == state::was_lendable) {
    record_.running->token_.store(worker::token_state::lendable, std::memory_order_relaxed);
  } else if (state_ == state::from_pool || state_ == state::as_guest) {
    worker& self = *record_.running;
    if (state_ == state::as_guest) record_.running = nullptr;
    self.token_.store(worker::token_state::none, std::memory_order_relaxed);
    pool_.give_token();
    pool_.notify();
  }
}

free_region::free_region(worker* self) : worker_(self) {
  if (worker_ == nullptr) return;
  worker_->free_jobs_begun_.store(worker_->free_jobs_begun_.load(std::memory_order_relaxed) + 1,
                                  std::memory_order_relaxed);
  if (worker_->token_.load(std::memory_order_relaxed) != worker::token_state::held) return;
  lent_ = true;
  worker_->token_.store(worker::token_state::lendable, std::memory_order_relaxed);
  // Pairs with the heavy fence of the monitor's tick: it sees the token, or we that the flag is
  // down.
  light_fence();
  pool& owner = *worker_->pool_;
  if ((owner.signals_.load(std::memory_order_relaxed) & pool::free_jobs_ran) != 0) return;
  owner.signals_.fetch_or(pool::free_jobs_ran, std::memory_order_relaxed);
  heavy_fence();  // who pushed before the flag could be seen is seen here
  if (owner.token_is_wanted()) owner.arm_monitor();
}

free_region::~free_region() {
  if (!lent_) return;
  // The thread goes on with what it did before, under a token: if the monitor has taken it, one
  // over the limit, and the next thread to end a job gives its own up.
  if (worker_->token_.exchange(worker::token_state::held, std::memory_order_relaxed) ==
      worker::token_state::none) {
    worker_->pool_->tokens_.fetch_sub(1, std::memory_order_relaxed);
  }
}

// The monitor ------------------------------------------------------------------------------------

void pool::arm_monitor() {
  auto& armed = threads_->monitor_armed;
  if (armed.load(std::memory_order_relaxed)) return;
  if (!armed.exchange(true, std::memory_order_acq_rel)) threads_->monitor_parker.unpark();
}

void pool::join_ended() {
  std::vector<stack_thread> ended;
  const std::lock_guard lock(threads_->mutex);
  ended.swap(threads_->ended);  // joined when the lock is released
}

void pool::run_monitor() {
  auto& all = *threads_;
  while (!stopping_.load(std::memory_order_acquire)) {
    join_ended();
    if (!all.monitor_armed.load(std::memory_order_acquire)) {
      all.monitor_parker.park();
      continue;
    }
    if (all.monitor_parker.park_until(std::chrono::steady_clock::now() + monitor_period)) continue;
    if (monitor_tick()) continue;
    // Nothing waits: sleep until a push arms it again. A push that came before the flag was down is
    // found by looking once more.
    all.monitor_armed.store(false, std::memory_order_relaxed);
    heavy_fence();
    if (free_work_pending() || (token_is_wanted() && any_lendable())) {
      all.monitor_armed.store(true, std::memory_order_relaxed);
    }
  }
}

/// Whether a token that is held for a free job would be of use.
bool pool::token_is_wanted() const {
  return tokens_.load(std::memory_order_relaxed) < 0 ||
         idle_wanted_.load(std::memory_order_relaxed) > 0 || token_work_pending();
}

bool pool::any_lendable() const {
  const std::size_t count = threads_->count.load(std::memory_order_acquire);
  for (std::size_t i = 0; i < count; ++i) {
    const worker& one = *threads_->all[i].load(std::memory_order_relaxed);
    if (one.token_.load(std::memory_order_relaxed) == worker::token_state::lendable) return true;
  }
  return false;
}

/// One look at what has not moved since the last. True when something still waits.
bool pool::monitor_tick() {
  auto& all = *threads_;
  const bool wanted = token_is_wanted();
  const std::size_t free_jobs = queues_->free.size_approx();
  bool lendable = false;
  const std::size_t count = all.count.load(std::memory_order_acquire);
  for (std::size_t i = 0; i < count; ++i) {
    worker& one = *all.all[i].load(std::memory_order_relaxed);
    auto expected = worker::token_state::lendable;
    if (one.token_.load(std::memory_order_relaxed) != expected) continue;
    lendable = true;
    const std::uint32_t begun = one.free_jobs_begun_.load(std::memory_order_relaxed);
    const bool same = std::exchange(one.seen_free_jobs_, begun) == begun;
    if (same && wanted &&
        one.token_.compare_exchange_strong(expected, worker::token_state::none,
                                           std::memory_order_relaxed)) {
      give_token();
    }
  }
  if (!lendable) {
    signals_.fetch_and(~free_jobs_ran, std::memory_order_relaxed);
    heavy_fence();
    lendable = any_lendable();
    if (lendable) signals_.fetch_or(free_jobs_ran, std::memory_order_relaxed);
  }
  const std::uint64_t signals = signals_.load(std::memory_order_relaxed);
  if ((signals & searching_mask) != 0) return wanted || free_jobs != 0;
  if (tokens_.load(std::memory_order_relaxed) > 0 && token_work_pending()) wake_or_add();
  if (free_jobs != 0) {
    // As many as wait, at most doubling the threads each tick.
    const std::size_t most = std::max<std::size_t>(1, thread_count());
    for (std::size_t i = 0; i < std::min(free_jobs, most); ++i) {
      if (!wake_one() && !add_thread()) break;
    }
  }
  return free_jobs != 0 || (wanted && lendable);
}

// The end ----------------------------------------------------------------------------------------

void pool::stop() {
  auto& all = *threads_;
  {
    const std::lock_guard lock(all.mutex);
    if ((signals_.load(std::memory_order_relaxed) & stopped) != 0) return;
    stopping_.store(true, std::memory_order_release);
  }
  heavy_fence();
  while (wake_one()) {
  }
  all.monitor_parker.unpark();
  all.monitor.join();
  // No thread is added any more: the handles can be read without the mutex.
  for (auto& handle : all.handles) handle.join();
  join_ended();
  {
    const std::lock_guard lock(all.mutex);
    all.owed = 0;
    idle_wanted_.store(0, std::memory_order_relaxed);
    tokens_.store(0, std::memory_order_relaxed);
    signals_.store(stopped, std::memory_order_relaxed);
  }
  heavy_fence();  // pairs with a push's light one: its job is drained here, or by itself
  drain();
}

void pool::drain() {
  // Jobs that are executed may push others, and so come here again: those wait for the outer loop.
  thread_local bool draining = false;
  if (std::exchange(draining, true)) return;
  job* item = nullptr;
  bool found = true;
  while (found) {
    found = false;
    while (queues_->injected.try_dequeue(item) || queues_->free.try_dequeue(item)) {
      found = true;
      item->execute(item);
    }
    const std::size_t count = threads_->count.load(std::memory_order_acquire);
    for (std::size_t i = 0; i < count; ++i) {
      worker* one = threads_->all[i].load(std::memory_order_relaxed);
      while ((item = one->jobs_.steal()) != nullptr) {
        found = true;
        item->execute(item);
      }
    }
  }
  draining = false;
}

}  // namespace ray::detail::exec
