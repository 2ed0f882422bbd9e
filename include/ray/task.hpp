/// `ray::task<R>`: a lazy coroutine. A function that returns one runs as a task that suspends
/// without holding a thread: `co_await` futures and other tasks, `co_return` the result.
#pragma once

#include <ray/detail/runtime/coroutine.hpp>

#include <coroutine>
#include <exception>
#include <utility>
#include <variant>

namespace ray {

/// Owns a coroutine that has not begun. Move-only. Awaited by another coroutine, or run by the
/// library when a task or a method returns it; after a `co_await` it may be on another thread.
template <typename Result = void>
class [[nodiscard]] task {
 public:
  struct promise_type : detail::coroutine_promise, detail::coroutine_result<Result> {
    [[nodiscard]] task get_return_object() noexcept {
      return task(std::coroutine_handle<promise_type>::from_promise(*this));
    }
    void unhandled_exception() noexcept { this->set_error(std::current_exception()); }
  };

  task(task&& other) noexcept : coroutine_(std::exchange(other.coroutine_, nullptr)) {}
  task& operator=(task&& other) noexcept {
    std::swap(coroutine_, other.coroutine_);
    return *this;
  }
  ~task() {
    if (coroutine_) coroutine_.destroy();
  }

  /// Runs the coroutine inside the awaiting one; gives its result or rethrows its error.
  auto operator co_await() && noexcept { return awaiter{coroutine_}; }
  auto operator co_await() & noexcept { return awaiter{coroutine_}; }

 private:
  friend struct detail::coroutine_access;

  struct awaiter {
    std::coroutine_handle<promise_type> coroutine;
    [[nodiscard]] bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> outer) const {
      coroutine.promise().continuation = outer;
      coroutine.promise().context = &detail::this_context();
      detail::resume_next(coroutine);
    }
    Result await_resume() const { return coroutine.promise().take(); }
  };

  explicit task(std::coroutine_handle<promise_type> coroutine) noexcept : coroutine_(coroutine) {}

  std::coroutine_handle<promise_type> coroutine_;
};

namespace detail {

/// Runs a `ray::task` as the body of a task's block.
template <typename Block, typename Result>
class task_context final : public coroutine_context {
 public:
  task_context(Block& block, ray::task<Result> coroutine)
      : coroutine_context(&block), block_(block), coroutine_(std::move(coroutine)) {
    coroutine_access::handle(coroutine_).promise().context = this;
  }
  [[nodiscard]] std::coroutine_handle<> beginning() const noexcept {
    return coroutine_access::handle(coroutine_);
  }

 private:
  void finish() noexcept override {
    Block& block = block_;
    std::exception_ptr error;
    object_handle next;
    try {
      auto& promise = coroutine_access::handle(coroutine_).promise();
      if constexpr (std::is_void_v<Result>) {
        promise.take();
        new (block.result_storage()) std::monostate();
      } else if constexpr (is_future<Result>) {
        next = future_access::take(promise.take());
        if (!next) throw_empty_future("as the result of a coroutine");
      } else {
        new (block.result_storage()) Result(promise.take());
        block.track_result();
      }
    } catch (...) {
      error = std::current_exception();
    }
    delete this;  // the frame goes before the arguments that it may refer to
    if (next) {
      forward_when_ready(&block, std::move(next));
    } else {
      finish_coroutine(&block, std::move(error));
    }
  }

  Block& block_;
  ray::task<Result> coroutine_;
};

template <typename Result>
struct returned_traits<ray::task<Result>> {
  using value_type = typename returned_traits<Result>::value_type;
  static constexpr bool immediate = false;
  template <typename Block>
  static outcome start(Block& block, auto& body) {
    auto* context = new task_context<Block, Result>(block, body());
    coroutine_context::run(context, context->beginning());
    return outcome::suspended;
  }
};

}  // namespace detail

}  // namespace ray
