#include "runtime/timers.hpp"

namespace ray::detail {

timers::ticket timers::add(time_point when, function run, void* context) {
  const std::lock_guard lock(mutex_);
  const ticket one{when, next_++};
  const bool earliest = waiting_.empty() || one < waiting_.begin()->first;
  waiting_.emplace(one, call{run, context});
  if (!thread_.joinable()) {
    stopping_ = false;
    thread_ = std::thread([this] { run_thread(); });
  } else if (earliest) {
    changed_.notify_all();
  }
  return one;
}

bool timers::remove(const ticket& one) noexcept {
  std::unique_lock lock(mutex_);
  if (waiting_.erase(one) != 0) return true;
  if (thread_.get_id() != std::this_thread::get_id()) {
    changed_.wait(lock, [&] { return running_ != one.second; });
  }
  return false;
}

void timers::run_thread() noexcept {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (waiting_.empty()) {
      changed_.wait(lock);
      continue;
    }
    const auto first = waiting_.begin();
    if (first->first.first > std::chrono::steady_clock::now()) {
      const time_point when = first->first.first;
      changed_.wait_until(lock, when);
      continue;
    }
    const call due = first->second;
    running_ = first->first.second;
    waiting_.erase(first);
    lock.unlock();
    due.run(due.context);
    lock.lock();
    running_ = 0;
    changed_.notify_all();
  }
}

void timers::stop() noexcept {
  std::thread ending;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    waiting_.clear();
    ending = std::move(thread_);
    changed_.notify_all();
  }
  if (ending.joinable()) ending.join();
}

}  // namespace ray::detail
