/// The courier: one thread a process, outside the slots, that serializes for the store and spills.
/// Serializers and destructors that it runs must not block on ray.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

namespace ray::detail {

namespace store {
class object_store;
}

class courier {
 public:
  /// Starts the thread for one store, whose left-overs it clears first.
  void start(store::object_store& objects);
  /// Has it relieve the store soon.
  void wake() noexcept;
  void stop() noexcept;

  /// Whether this thread is a courier.
  [[nodiscard]] static bool is_this_thread() noexcept;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool wanted_ = false;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace ray::detail
