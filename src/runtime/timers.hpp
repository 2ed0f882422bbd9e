/// Calls that are due at a point in time: tasks' timeouts, checkpoints. One thread, started with
/// the first timer, sleeps until the earliest.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

namespace ray::detail {

class timers {
 public:
  using time_point = std::chrono::steady_clock::time_point;
  using function = void (*)(void* context) noexcept;
  using ticket = std::pair<time_point, std::uint64_t>;

  /// Calls `run(context)` on the timer thread when `when` has come. It must not block.
  ticket add(time_point when, function run, void* context);
  /// True when the timer was taken out before it ran; when false, its call has returned.
  bool remove(const ticket& one) noexcept;
  /// Ends the thread; timers that are not due are dropped.
  void stop() noexcept;

 private:
  struct call {
    function run;
    void* context;
  };
  void run_thread() noexcept;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<ticket, call> waiting_;
  std::uint64_t next_ = 1;
  std::uint64_t running_ = 0;  // the number of the timer whose call runs now
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace ray::detail
