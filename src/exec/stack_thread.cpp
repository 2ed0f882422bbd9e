#include "exec/stack_thread.hpp"

#include <memory>

namespace ray::detail::exec {
namespace {

struct start {
  stack_thread::function run;
  void* argument;
};

void* run_thread(void* argument) {
  const std::unique_ptr<start> call(static_cast<start*>(argument));
  call->run(call->argument);
  return nullptr;
}

}  // namespace

stack_thread::stack_thread(function run, void* argument, std::size_t stack_size) noexcept {
  auto call = std::unique_ptr<start>(new (std::nothrow) start{run, argument});
  if (call == nullptr) return;
  for (std::size_t size = stack_size; size >= small_stack / 2; size /= 4) {
    pthread_attr_t attributes;
    if (::pthread_attr_init(&attributes) != 0) return;
    ::pthread_attr_setstacksize(&attributes, size);
    joinable_ = ::pthread_create(&handle_, &attributes, run_thread, call.get()) == 0;
    ::pthread_attr_destroy(&attributes);
    if (joinable_) {
      call.release();
      return;
    }
  }
}

}  // namespace ray::detail::exec
