/// How a coroutine is run as a task: it is resumed by pool jobs and suspended without a thread.
///
/// A `coroutine_context` belongs to the outermost coroutine of a task; those that it awaits share
/// it. Coroutines hand over to each other through a slot of the thread that runs them, never by
/// symmetric transfer, which overflows the stack in builds without tail calls.
#pragma once

#include <ray/detail/exec/job.hpp>
#include <ray/detail/runtime/object.hpp>
#include <ray/detail/runtime/task.hpp>
#include <ray/detail/runtime/value_access.hpp>
#include <ray/fwd.hpp>

#include <coroutine>
#include <exception>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

namespace ray::detail {

/// The coroutine behind a `ray::task` or a `ray::generator`.
struct coroutine_access {
  template <typename Coroutine>
  [[nodiscard]] static auto handle(const Coroutine& one) noexcept {
    return one.coroutine_;
  }
};

class coroutine_context : public exec::job {
 public:
  explicit coroutine_context(task* owner) noexcept;
  virtual ~coroutine_context() = default;
  coroutine_context(const coroutine_context&) = delete;
  coroutine_context& operator=(const coroutine_context&) = delete;

  [[nodiscard]] task* owner() const noexcept { return owner_; }

  /// Runs a coroutine of this context on this thread until it suspends or has ended. After this
  /// the context may be gone.
  static void run(coroutine_context* context, std::coroutine_handle<> where) noexcept;

  /// Queues the coroutine at `where` to be resumed by the pool.
  void schedule(std::coroutine_handle<> where) noexcept;

  // The slots of a classed task or an actor are lent while it is suspended.
  void suspended() noexcept;
  void resumed() noexcept;

 protected:
  /// The outermost coroutine has ended: stores its result and frees the context.
  virtual void finish() noexcept = 0;

 private:
  task* owner_;
  std::coroutine_handle<> where_;  // between `schedule` and the job
};

/// Has this thread resume `where` when the coroutine that runs now has suspended.
void resume_next(std::coroutine_handle<> where) noexcept;
/// The context of the coroutine that this thread runs. Throws usage_error outside of one.
[[nodiscard]] coroutine_context& this_context();
/// The outermost coroutine of the context has reached its end.
void context_ended(coroutine_context* context) noexcept;

/// A coroutine that waits: for an object, or for room in a stream. Cancelling its task wakes it.
class suspension {
 public:
  suspension() noexcept;
  ~suspension();
  suspension(const suspension&) = delete;
  suspension& operator=(const suspension&) = delete;

  /// Suspends until `target` is ready. The coroutine may run elsewhere when this returns.
  void wait_for(object* target, std::coroutine_handle<> where);
  /// Suspends until `wake` is called.
  void wait(std::coroutine_handle<> where);
  /// Resumes the coroutine, unless it was woken already.
  void wake() noexcept;

 private:
  struct state;
  void wait_in(coroutine_context& context, std::coroutine_handle<> where);
  // Room for the state, whose type the runtime keeps to itself.
  static constexpr std::size_t state_size = 176;
  alignas(16) std::byte room_[state_size];
  state* state_;
};

/// Throws when the task that runs was cancelled or is late.
void throw_if_interrupted();

/// `co_await` of a future.
template <typename Value>
class future_awaiter {
 public:
  future_awaiter(object_handle handle, bool takes) noexcept
      : handle_(std::move(handle)), takes_(takes) {}
  // Awaiters must be movable for g++ 12; nothing has begun when they are moved.
  future_awaiter(future_awaiter&& other) noexcept
      : handle_(std::move(other.handle_)), takes_(other.takes_) {}

  [[nodiscard]] bool await_ready() const noexcept { return handle_->is_ready(); }
  void await_suspend(std::coroutine_handle<> where) {
    waiting_.emplace();
    waiting_->wait_for(handle_.get(), where);
  }
  Value await_resume() {
    waiting_.reset();
    throw_if_interrupted();
    if constexpr (std::is_void_v<Value>) {
      if ((handle_->word() & object::failed) != 0) throw_error(handle_.get());
    } else {
      if (takes_) return take_value<Value>(std::move(handle_));
      return copy_of(*pinned_value<const Value>(handle_.get()));
    }
  }

 private:
  object_handle handle_;
  bool takes_;
  std::optional<suspension> waiting_;
};

/// What a coroutine has come to: nothing yet, a value, or an exception.
template <typename Result>
class coroutine_result {
 public:
  template <typename Value>
  void return_value(Value&& value) {
    value_.emplace(std::forward<Value>(value));
  }
  [[nodiscard]] Result take() {
    if (error_ != nullptr) std::rethrow_exception(error_);
    return std::move(*value_);
  }
  void set_error(std::exception_ptr error) noexcept { error_ = std::move(error); }

 private:
  std::optional<Result> value_;
  std::exception_ptr error_;
};
template <>
class coroutine_result<void> {
 public:
  void return_void() noexcept {}
  void take() {
    if (error_ != nullptr) std::rethrow_exception(error_);
  }
  void set_error(std::exception_ptr error) noexcept { error_ = std::move(error); }

 private:
  std::exception_ptr error_;
};

/// The end of a coroutine: whoever awaits it goes on, or the task ends.
class final_awaiter {
 public:
  final_awaiter(std::coroutine_handle<> continuation, coroutine_context* context) noexcept
      : continuation_(continuation), context_(context) {}
  [[nodiscard]] bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<>) const noexcept {
    if (continuation_) {
      resume_next(continuation_);
    } else {
      context_ended(context_);
    }
  }
  void await_resume() const noexcept {}

 private:
  std::coroutine_handle<> continuation_;
  coroutine_context* context_;
};

/// What promises of tasks and generators share.
struct coroutine_promise {
  std::coroutine_handle<> continuation = {};
  coroutine_context* context = nullptr;

  [[nodiscard]] std::suspend_always initial_suspend() const noexcept { return {}; }
  [[nodiscard]] final_awaiter final_suspend() const noexcept { return {continuation, context}; }
};

}  // namespace ray::detail
