/// The budget of the store: what counts against the limit, and how a thread that needs room asks
/// the courier for it and waits.
#include "store/object_store.hpp"

#include <utility>

namespace ray::detail::store {

namespace {

/// Counts its holder in for a while.
class counted_in {
 public:
  explicit counted_in(std::atomic<int>& count) noexcept : count_(count) {
    count_.fetch_add(1, std::memory_order_relaxed);
  }
  ~counted_in() { count_.fetch_sub(1, std::memory_order_relaxed); }
  counted_in(const counted_in&) = delete;
  counted_in& operator=(const counted_in&) = delete;

 private:
  std::atomic<int>& count_;
};

}  // namespace

/// What spilling the object frees, as counted against the limit.
std::size_t object_store::weight(const entry& object) const noexcept {
  if (object.operations_->heap_size != nullptr) return object.size_;
  return object.size_ * overhead_.load(std::memory_order_relaxed) / overhead_unit;
}

std::size_t object_store::pressure() const noexcept {
  return exact_bytes_.load(std::memory_order_relaxed) +
         counted_bytes_.load(std::memory_order_relaxed) *
             overhead_.load(std::memory_order_relaxed) / overhead_unit;
}

/// The value is, or is about to be, in memory.
void object_store::charge(const entry& object) noexcept {
  if (object.operations_->heap_size != nullptr) {
    exact_bytes_.fetch_add(object.size_, std::memory_order_relaxed);
  } else if (object.sized_) {
    counted_bytes_.fetch_add(object.size_, std::memory_order_relaxed);
  } else {
    unsized_objects_.fetch_add(1, std::memory_order_relaxed);
  }
}

void object_store::refund(const entry& object) noexcept {
  if (object.operations_->heap_size != nullptr) {
    exact_bytes_.fetch_sub(object.size_, std::memory_order_relaxed);
  } else if (object.sized_) {
    counted_bytes_.fetch_sub(object.size_, std::memory_order_relaxed);
  } else {
    unsized_objects_.fetch_sub(1, std::memory_order_relaxed);
  }
}

/// Blocks until the store is below its limit, or the courier can do no more about it. Returns why
/// spilling fails if that is what keeps it above, else nothing. `sampled`: it is the process that
/// has grown, so a whole pass must show what the store holds.
std::string object_store::await_room(urgency why) {
  // The courier cannot wait for itself: within a pass it goes over, outside it helps itself.
  if (relieving_on_this_thread()) return {};
  const bool help_oneself =
      options_.wake_courier == nullptr || courier_.load() == std::this_thread::get_id();

  const auto has_room = [this] { return pressure() <= options_.memory_limit; };
  std::unique_lock lock(relief_mutex_);
  const counted_in among(waiting_);
  for (;;) {
    if (closed_ || (why == urgency::known && has_room())) return {};
    const std::uint64_t ticket = ++requested_;
    if (help_oneself) {
      lock.unlock();
      relieve();
      lock.lock();
    } else {
      wake_courier(lock);
    }
    relieved_.wait(lock, [&] {
      return closed_ || completed_ >= ticket || (why == urgency::known && has_room());
    });
    if (closed_ || has_room()) return {};
    if (!failure_.empty()) return failure_;
    // All else is pinned; or there was room, and others were quicker: once more.
    if (exhausted_) return {};
  }
}

/// Has the courier make a pass, and does not wait for it.
void object_store::request_relief() noexcept {
  if (options_.wake_courier == nullptr || relieving_on_this_thread()) return;
  std::unique_lock lock(relief_mutex_);
  if (closed_) return;
  ++requested_;
  wake_courier(lock);
}

/// Calls the owner's function without the lock, unless the courier is awake anyway.
void object_store::wake_courier(std::unique_lock<std::mutex>& lock) noexcept {
  if (std::exchange(awake_, true)) return;
  ++waking_;
  lock.unlock();
  options_.wake_courier(options_.context);
  lock.lock();
  if (--waking_ == 0 && closed_) relieved_.notify_all();
}

void object_store::close() noexcept {
  {
    std::unique_lock lock(relief_mutex_);
    closed_ = true;
    relieved_.notify_all();
    relieved_.wait(lock, [this] { return waking_ == 0; });
  }
  // After the pass that may be under way; there is no other.
  const std::lock_guard pass(pass_mutex_);
  writer_.reset();
  files_.remove_all();
}

void object_store::unpinned_over_limit() noexcept {
  // The first of many unpins tells; the courier sets the flag again if it is still over the limit.
  if (over_limit_.exchange(false, std::memory_order_seq_cst)) request_relief();
}

/// Lets those who wait look again. Should one begin to wait at this moment and not be seen, it
/// wakes at the latest when the pass that it has asked for ends.
void object_store::room_was_made() noexcept {
  if (waiting_.load(std::memory_order_relaxed) == 0 || pressure() > options_.memory_limit) return;
  { const std::lock_guard lock(relief_mutex_); }
  relieved_.notify_all();
}

bool object_store::relieving_on_this_thread() const noexcept {
  return relieving_.load(std::memory_order_relaxed) == std::this_thread::get_id();
}

}  // namespace ray::detail::store
