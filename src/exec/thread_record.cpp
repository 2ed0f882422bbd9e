#include "exec/thread_record.hpp"

#include <pthread.h>

#include <mutex>

namespace ray::detail::exec {
namespace {

class record_list {
 public:
  thread_record* take() {
    const std::lock_guard lock(mutex_);
    if (first_ == nullptr) return new thread_record;
    thread_record* record = first_;
    first_ = record->next_free;
    record->next_free = nullptr;
    return record;
  }

  void give(thread_record* record) {
    const std::lock_guard lock(mutex_);
    record->running = nullptr;
    record->next_free = first_;
    first_ = record;
  }

 private:
  std::mutex mutex_;
  thread_record* first_ = nullptr;
};

record_list& records() {
  static auto* list = new record_list;
  return *list;
}

struct record_returner {
  bool armed = false;
  ~record_returner() {
    if (current_record != nullptr) records().give(current_record);
    current_record = nullptr;
  }
};
thread_local record_returner returner;

void read_stack_bounds(thread_record& record) {
  pthread_attr_t attributes;
  if (::pthread_getattr_np(::pthread_self(), &attributes) != 0) return;
  void* low = nullptr;
  std::size_t size = 0;
  if (::pthread_attr_getstack(&attributes, &low, &size) == 0) {
    record.stack_limit = reinterpret_cast<std::uintptr_t>(low) + size / 4;
  }
  ::pthread_attr_destroy(&attributes);
}

}  // namespace

constinit thread_local thread_record* current_record = nullptr;

thread_record& adopt_thread() {
  returner.armed = true;  // constructs it, so that it runs when the thread ends
  current_record = records().take();
  read_stack_bounds(*current_record);
  return *current_record;
}

}  // namespace ray::detail::exec
