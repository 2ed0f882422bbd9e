/// A thread with a stack of a chosen size. The deep one is reserved, not touched: pages are used as
/// the stack grows, so nested tasks may go deep and a sleeping thread costs little.
#pragma once

#include <pthread.h>

#include <cstddef>
#include <utility>

namespace ray::detail::exec {

class stack_thread {
 public:
  using function = void (*)(void*);

  static constexpr std::size_t deep_stack = std::size_t{256} * 1024 * 1024;
  static constexpr std::size_t small_stack = std::size_t{1024} * 1024;

  stack_thread() noexcept = default;
  /// Starts `run(argument)`. When the system refuses such a stack, smaller ones are tried; when it
  /// refuses any thread, the object is not joinable.
  stack_thread(function run, void* argument, std::size_t stack_size) noexcept;
  stack_thread(stack_thread&& other) noexcept
      : handle_(other.handle_), joinable_(std::exchange(other.joinable_, false)) {}
  stack_thread& operator=(stack_thread&& other) noexcept {
    join();
    handle_ = other.handle_;
    joinable_ = std::exchange(other.joinable_, false);
    return *this;
  }
  ~stack_thread() { join(); }

  [[nodiscard]] bool joinable() const noexcept { return joinable_; }
  /// Waits for the thread to end; does nothing when there is none.
  void join() noexcept {
    if (std::exchange(joinable_, false)) ::pthread_join(handle_, nullptr);
  }

 private:
  pthread_t handle_{};
  bool joinable_ = false;
};

}  // namespace ray::detail::exec
