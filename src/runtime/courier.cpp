#include "runtime/courier.hpp"

#include "store/object_store.hpp"

namespace ray::detail {
namespace {
constinit thread_local bool on_courier = false;
}

bool courier::is_this_thread() noexcept { return on_courier; }

void courier::start(store::object_store& objects) {
  stopping_ = false;
  wanted_ = true;
  thread_ = std::thread([this, &objects] {
    on_courier = true;
    std::unique_lock lock(mutex_);
    while (!stopping_) {
      if (!wanted_) {
        changed_.wait(lock);
        continue;
      }
      wanted_ = false;
      lock.unlock();
      objects.relieve();
      lock.lock();
    }
  });
}

void courier::wake() noexcept {
  const std::lock_guard lock(mutex_);
  wanted_ = true;
  changed_.notify_one();
}

void courier::stop() noexcept {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    changed_.notify_one();
  }
  if (thread_.joinable()) thread_.join();
}

}  // namespace ray::detail
