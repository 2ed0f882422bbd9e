/// A task: the block that is a pool job, a stored object and the call itself in one allocation.
///
/// `task` is what the runtime sees; `task_of` adds the function, its arguments still typed, and the
/// storage of the result. Whoever wins `object::claim` runs it: a pool thread that finds it in a
/// queue, or a thread that waits for its result.
#pragma once

#include <ray/detail/base/block_memory.hpp>
#include <ray/detail/base/type_name.hpp>
#include <ray/detail/base/value_operations_of.hpp>
#include <ray/detail/exec/job.hpp>
#include <ray/detail/runtime/object.hpp>
#include <ray/fwd.hpp>
#include <ray/serializable.hpp>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

namespace ray::detail {

struct task_extra;
struct call_settings;

extern constinit std::atomic<bool> session_flag;
[[noreturn]] void throw_no_session();

/// Whether a session runs. Relaxed: whoever calls without having seen `init` return is on his own.
[[nodiscard]] inline bool session_runs() noexcept {
  return session_flag.load(std::memory_order_relaxed);
}

/// Throws usage_error unless a session runs.
inline void require_session() {
  if (!session_runs()) [[unlikely]]
    throw_no_session();
}

/// What the pool calls for a queued task.
void execute_task(exec::job* item) noexcept;

class task : public object, public exec::job {
 public:
  // A task is made with references for its first children included, so that a child costs its
  // parent no atomic operation: the running thread counts them down, and what is left is dropped
  // together with the task's own reference when it ends.
  static constexpr std::uint32_t child_credits = 1024;

  /// References: one of all handles, one of the queue, and the credits.
  static constexpr std::uint64_t initial_word =
      one_handle + one_reference * (std::uint64_t{2} + child_credits);

  task(const block_operations& operations, void* value) noexcept
      : object(operations, value, initial_word), exec::job(execute_task) {}

  // Acquire: one that a running task adds may be looked at by who cancels it.
  [[nodiscard]] task_extra* extra() const noexcept {
    return extra_.load(std::memory_order_acquire);
  }

 protected:
  ~task() = default;

  friend struct task_access;

  // Arguments that are not ready, and one for the submission itself. At zero the task is runnable.
  std::atomic<std::int32_t> unready_{1};
  std::uint32_t credits_ = child_credits;  // touched only by the thread that runs the task
  // The task that made this one; holds a reference of it. Changed only by the thread that runs the
  // task, under its stripe lock; walkers read it under that lock.
  task* parent_ = nullptr;
  bool arguments_gone_ = false;
  std::atomic<task_extra*> extra_{
      nullptr};  // options, retries, timers, actors: absent from the plain task
};

/// Queues the task, which has all it needs, for the pool (or its class, or its actor). Takes one
/// count of `unready_` away; the handle stays the caller's.
void submit(task* one) noexcept;

/// A block that was built and not yet submitted: an error on the way to `submit` takes it apart.
class unsubmitted {
 public:
  explicit unsubmitted(task* one) noexcept : task_(one) {}
  unsubmitted(const unsubmitted&) = delete;
  unsubmitted& operator=(const unsubmitted&) = delete;
  ~unsubmitted();
  void submit() noexcept { ray::detail::submit(std::exchange(task_, nullptr)); }

 private:
  task* task_;
};

/// Makes the task wait for `target`. Before `submit`, with a waiter that lives in the block.
void add_dependency(task* one, waiter& link, object* target) noexcept;

/// Attaches options to a task before it is submitted; null settings are the defaults.
void set_call_settings(task* one, std::shared_ptr<const call_settings> settings);

/// Called by `run` with the exception that the task's function threw, for the caller of `run`.
void keep_thrown(std::exception_ptr error) noexcept;

/// The function returned a future: the task ends as that does, perhaps at once.
void forward_when_ready(task* one, object_handle target) noexcept;

/// The task's coroutine has ended, with its value in the result's storage or with an error.
void finish_coroutine(task* one, std::exception_ptr error) noexcept;

/// Allocates and builds a block; `operator new` is not used, so that blocks come from the caches.
template <typename Block, typename... Arguments>
[[nodiscard]] Block* make_block(Arguments&&... arguments) {
  static_assert(alignof(Block) <= block_alignment);
  void* memory = allocate_block(sizeof(Block));
  try {
    return new (memory) Block(std::forward<Arguments>(arguments)...);
  } catch (...) {
    free_block(memory, sizeof(Block));
    throw;
  }
}

/// Room for a value that is constructed later.
template <typename Value>
union storage {
  storage() noexcept {}
  ~storage() {}
  Value value;
};

/// What a function's result is stored as.
template <typename Result>
using stored_result = std::conditional_t<std::is_void_v<Result>, std::monostate, Result>;

/// Whether a type is a future.
template <typename Type>
inline constexpr bool is_future = false;
template <typename Value>
inline constexpr bool is_future<future<Value>> = true;

/// The object behind a future; the one door through which the library reaches it.
struct future_access {
  template <typename Value>
  [[nodiscard]] static object* get(const future<Value>& one) noexcept {
    return one.handle_.get();
  }
  template <typename Value>
  [[nodiscard]] static object_handle take(future<Value>&& one) noexcept {
    return std::move(one.handle_);
  }
  template <typename Value>
  [[nodiscard]] static future<Value> make(object_handle handle) noexcept {
    return future<Value>(std::move(handle));
  }
};

[[noreturn]] void throw_empty_future(const char* where);

/// The operations table's `value` entry: null for what never leaves the process.
template <typename Value, bool Travels>
constexpr const value_operations* operations_or_null() noexcept {
  if constexpr (Travels && !std::is_same_v<Value, std::monostate>) {
    return &value_operations_of<Value>();
  } else {
    return nullptr;
  }
}

/// An object made of a value: `ray::put`.
template <typename Value>
class value_block final : public object {
 public:
  template <typename Source>
  explicit value_block(Source&& source)
      : object(table, &content_, ready | claimed | one_handle | one_reference) {
    new (&content_.value) Value(std::forward<Source>(source));
  }

 private:
  static constexpr block_operations table{
      .value = operations_or_null<Value, true>(),
      .destroy_value = std::is_trivially_destructible_v<Value>
                           ? nullptr
                           : +[](object* base) noexcept {
                               std::destroy_at(&static_cast<value_block*>(base)->content_.value);
                             },
      .destroy_block = [](object* base) noexcept {
        auto* self = static_cast<value_block*>(base);
        self->~value_block();
        free_block(self, sizeof(value_block));
      }};

  storage<Value> content_;
};

/// How a function's return type becomes a future's: what the call returns, and, where the result
/// does not come with the return, how the task is started. Specialised for futures (the task ends
/// as they do), coroutines and streams.
template <typename Returned>
struct returned_traits {
  using value_type = std::decay_t<Returned>;
  static constexpr bool immediate = true;
};
template <typename Value>
struct returned_traits<future<Value>> {
  using value_type = Value;
  static constexpr bool immediate = false;
  template <typename Block>
  static outcome start(Block& block, auto& body) {
    object_handle target = future_access::take(body());
    if (!target) throw_empty_future("as the result of a task");
    forward_when_ready(&block, std::move(target));
    return outcome::forwarded;
  }
};
template <typename Value>
struct returned_traits<future<future<Value>>> : returned_traits<future<Value>> {};

template <typename Value>
constexpr void require_serializable_result() {
  if constexpr (!std::is_void_v<Value>) require_serializable<Value>();
}

/// The block of a task. `Body` holds the function and its arguments: `operator()` makes the call,
/// `pending()` finds an argument that is not ready, `copy_into` makes a copy for another attempt,
/// `name()` is what messages call it.
template <typename Body, bool Travels = true>
class task_of final : public task {
 public:
  using returned = decltype(std::declval<Body&>()());
  using value_type = typename returned_traits<returned>::value_type;
  using stored_type = stored_result<value_type>;

  template <typename... Arguments>
  explicit task_of(Arguments&&... arguments) : task(table, &result_) {
    new (&body_.value) Body(std::forward<Arguments>(arguments)...);
  }

  [[nodiscard]] Body& body() noexcept { return body_.value; }
  [[nodiscard]] stored_type* result_storage() noexcept { return &result_.value; }

  /// The result stands in its storage: has the store track it. Throws out_of_memory_error, and then
  /// the result is gone.
  void track_result() {
    if constexpr (Travels && !std::is_trivially_copyable_v<stored_type>) {
      try {
        track();
      } catch (...) {
        std::destroy_at(&result_.value);
        throw;
      }
    }
  }

 private:
  static task_of* self(object* base) noexcept { return static_cast<task_of*>(base); }

  static outcome run_call(task* base) noexcept {
    task_of* one = self(base);
    try {
      if constexpr (!returned_traits<returned>::immediate) {
        return returned_traits<returned>::start(*one, one->body_.value);
      } else {
        if constexpr (std::is_void_v<returned>) {
          one->body_.value();
        } else {
          new (&one->result_.value) stored_type(one->body_.value());
        }
        one->track_result();
        return outcome::value;
      }
    } catch (...) {
      keep_thrown(std::current_exception());
      return outcome::failed;
    }
  }

  static constexpr bool repeatable =
      requires(const Body& body, void* memory) { body.copy_into(memory); };

  static void* make_copy(task* one) {
    if constexpr (repeatable) {
      void* memory = allocate_block(sizeof(Body));
      try {
        self(one)->body_.value.copy_into(memory);
      } catch (...) {
        free_block(memory, sizeof(Body));
        throw;
      }
      return memory;
    } else {
      return nullptr;
    }
  }

  static void restore(task* one, void* copy) {
    if constexpr (repeatable) static_cast<const Body*>(copy)->copy_into(&self(one)->body_.value);
  }

  static void destroy_copy(void* copy) noexcept {
    if constexpr (repeatable) {
      std::destroy_at(static_cast<Body*>(copy));
      free_block(copy, sizeof(Body));
    }
  }

  static constexpr block_operations table{
      .value = operations_or_null<stored_type, Travels>(),
      .destroy_value =
          std::is_trivially_destructible_v<stored_type>
              ? nullptr
              : +[](object* base) noexcept { std::destroy_at(&self(base)->result_.value); },
      .destroy_block =
          [](object* base) noexcept {
            task_of* one = self(base);
            one->~task_of();
            free_block(one, sizeof(task_of));
          },
      .run = run_call,
      .pending_argument = [](task* one) noexcept { return self(one)->body_.value.pending(); },
      .destroy_arguments =
          std::is_trivially_destructible_v<Body>
              ? nullptr
              : +[](task* one) noexcept { std::destroy_at(&self(one)->body_.value); },
      .make_arguments_copy = make_copy,
      .restore_arguments = restore,
      .destroy_arguments_copy = destroy_copy,
      .name = [](task* one) { return self(one)->body_.value.name(); },
      .may_suspend = !returned_traits<returned>::immediate,
      .of_the_library = requires {typename Body::of_the_library;
}
};  // namespace ray::detail

storage<Body> body_;
storage<stored_type> result_;
}
;

}  // namespace ray::detail
