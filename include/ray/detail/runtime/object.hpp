/// The header of every object: what a future points to.
///
/// One word holds the object's state and its two counts, so that publishing a result and letting go
/// of the block is one atomic operation. *Handles* (futures, views, arguments) keep the value;
/// *references* keep the block's memory: all handles together hold one, the pool's queue one, and
/// each living child task one. The value dies with the last handle, the block with the last
/// reference.
#pragma once

#include <ray/detail/base/value_operations.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>
#include <utility>

namespace ray::detail {

class object;
class task;

/// Where the store keeps the books of a value (src/runtime/object_hooks.hpp).
struct stored_value;

/// How a task's function ended.
enum class outcome : std::uint8_t {
  value,      // the result stands in the value's storage
  failed,     // what was thrown is in a slot of the thread, see task.cpp
  suspended,  // a coroutine waits: somebody else ends the object
  forwarded,  // the result is a future: its end ends the object, and nothing runs any more
};

/// What the runtime can do with a block whose types it does not know.
struct block_operations {
  const value_operations* value;            // null: the value never leaves the process (or is void)
  void (*destroy_value)(object*) noexcept;  // null: nothing to do
  /// Frees the block, whose arguments and value are gone.
  void (*destroy_block)(object*) noexcept;

  // Of tasks only:
  outcome (*run)(task*) noexcept = nullptr;
  /// The first argument that is not ready, or null.
  object* (*pending_argument)(task*) noexcept = nullptr;
  /// Destroys function and arguments, once; null when there is nothing to destroy.
  void (*destroy_arguments)(task*) noexcept = nullptr;
  // A copy of function and arguments for another attempt: made, put back, destroyed.
  void* (*make_arguments_copy)(task*) = nullptr;
  void (*restore_arguments)(task*, void* copy) = nullptr;
  void (*destroy_arguments_copy)(void* copy) noexcept = nullptr;
  std::string (*name)(task*) = nullptr;
  bool may_suspend = false;     // `run` can return `suspended`
  bool of_the_library = false;  // runs without a CPU slot where the session has none
};

/// One who waits for an object: a link in its list, and what to do when the object is ready.
struct waiter {
  using function = void (*)(waiter*, object*) noexcept;

  function notify = nullptr;  // called once by the thread that ends the object
  void* context = nullptr;
  // Guarded by the object's stripe lock (see object.cpp).
  waiter* next = nullptr;
  waiter* previous = nullptr;
  object* from = nullptr;  // whose list it was last in
  // True while in an object's list. Cleared under the lock, read without: a waiter that finds it
  // cleared may free itself, unless it has a `notify` that is still to run.
  std::atomic<bool> linked{false};
};

class object {
 public:
  // The word: 12 bits of state, 26 of handles, 26 of references.
  static constexpr std::uint64_t ready = 1;         // ended, well or not; set once, last
  static constexpr std::uint64_t failed = 2;        // with `error_`
  static constexpr std::uint64_t claimed = 4;       // a thread has begun it, or ended it unbegun
  static constexpr std::uint64_t runnable = 8;      // who claims it may run it
  static constexpr std::uint64_t ending = 16;       // who set it writes `error_`, then `ready`
  static constexpr std::uint64_t has_waiters = 32;  // the list may not be empty
  static constexpr std::uint64_t tracked = 64;      // the store tracks the value: pin to read
  static constexpr std::uint64_t forwarded = 128;   // the value is that of the object at `value_`
  static constexpr std::uint64_t observed = 256;    // somebody has seen the error
  static constexpr std::uint64_t cancelled = 512;   // ended by `cancel` or a timeout
  static constexpr std::uint64_t cancels_children = 1024;
  static constexpr std::uint64_t to_repeat =
      2048;  // an actor's call that its next incarnation gets
  static constexpr std::uint64_t one_handle = std::uint64_t{1} << 12;
  static constexpr std::uint64_t handles_mask = ((std::uint64_t{1} << 26) - 1) << 12;
  static constexpr std::uint64_t one_reference = std::uint64_t{1} << 38;

  static constexpr std::uint64_t handles(std::uint64_t word) noexcept {
    return (word & handles_mask) >> 12;
  }
  static constexpr std::uint64_t references(std::uint64_t word) noexcept { return word >> 38; }

  object(const block_operations& operations, void* value, std::uint64_t word) noexcept
      : word_(word), operations_(&operations), value_(value) {}
  object(const object&) = delete;
  object& operator=(const object&) = delete;

  [[nodiscard]] std::uint64_t word() const noexcept {
    return word_.load(std::memory_order_acquire);
  }
  [[nodiscard]] bool is_ready() const noexcept { return (word() & ready) != 0; }
  [[nodiscard]] const block_operations& operations() const noexcept { return *operations_; }

  // Relaxed: the new handle comes from one that the caller has.
  void add_handle() noexcept { word_.fetch_add(one_handle, std::memory_order_relaxed); }
  void drop_handle() noexcept {
    const std::uint64_t word = this->word();
    constexpr std::uint64_t special = failed | forwarded | tracked;
    // Usually the last handle of a value that needs no destructor, and the last reference with it:
    // nobody else can reach the object.
    if ((word & (ready | special)) == ready && word >> 12 == (one_handle | one_reference) >> 12 &&
        operations_->destroy_value == nullptr) [[likely]] {
      free();
    } else {
      drop_handle_slowly(word);
    }
  }
  void add_reference() noexcept { word_.fetch_add(one_reference, std::memory_order_relaxed); }
  void drop_references(std::uint64_t count) noexcept;

  /// Wins the right to begin the task, or to end it unbegun; once only.
  [[nodiscard]] bool claim() noexcept {
    return (word_.fetch_or(claimed, std::memory_order_acq_rel) & claimed) == 0;
  }

  /// The value stands in its storage: makes it visible, wakes who waits and drops `references`.
  /// When somebody has ended the object meanwhile (cancelled it), drops the value.
  void publish(std::uint64_t references_to_drop) noexcept {
    std::uint64_t word = word_.load(std::memory_order_relaxed);
    // The usual case in one step: nobody ended it meanwhile, nobody waits, somebody has a handle
    // (and with it a reference, so the block stays). Release: whoever sees `ready` sees the value.
    while ((word & (ending | has_waiters)) == 0 && (word & handles_mask) != 0) {
      const std::uint64_t after = (word | ready) - references_to_drop * one_reference;
      if (word_.compare_exchange_weak(word, after, std::memory_order_acq_rel,
                                      std::memory_order_relaxed)) {
        return;
      }
    }
    publish_slowly(word, references_to_drop);
  }

  /// Ends the object with an error, unless it has ended; true when this call ended it.
  bool fail(std::exception_ptr error, std::uint64_t flags = 0) noexcept;

  /// The object takes the value or error of `target`, which is ready. Consumes a handle of it.
  void forward(object* target) noexcept;

  /// Links `one` unless the object is ready; true when linked, and then `notify` is called once.
  [[nodiscard]] bool add_waiter(waiter& one) noexcept;
  /// Takes `one` out again; false when it is, or is about to be, notified.
  bool remove_waiter(waiter& one) noexcept;

  /// The object whose value this one has: itself, or where it was forwarded. Ready objects only.
  [[nodiscard]] object* source() noexcept {
    return (word() & forwarded) != 0 ? static_cast<object*>(value_) : this;
  }
  [[nodiscard]] void* value() const noexcept { return value_; }
  [[nodiscard]] const std::exception_ptr& error() const noexcept { return error_; }
  void mark_observed() noexcept;

  /// The low half of the object's id, which is made when first asked for.
  [[nodiscard]] std::uint64_t id() noexcept;

  /// Tells the store of the value, which stands in its storage, when it is worth tracking. Throws
  /// `out_of_memory_error`; the value then is still the caller's.
  void track();
  /// Takes a value back that `publish` has not shown to anyone.
  void retract_value() noexcept;
  [[nodiscard]] stored_value* where_stored() const noexcept { return stored_; }

 protected:
  ~object() = default;
  void release_value() noexcept;
  void notify_waiters() noexcept;
  void drop_handle_slowly(std::uint64_t word) noexcept;
  void last_handle_gone() noexcept;
  /// Nobody refers to the object any more.
  void free() noexcept;
  void discard_value() noexcept;
  void publish_slowly(std::uint64_t word, std::uint64_t references_to_drop) noexcept;

  std::atomic<std::uint64_t> word_;
  const block_operations* operations_;
  void* value_;                   // the value's storage; when forwarded, the object that has it
  std::exception_ptr error_;      // written by who set `ending`, before `ready`
  waiter* waiters_ = nullptr;     // guarded by the object's stripe lock
  object* next_dying_ = nullptr;  // of the thread that lets go of it, see object.cpp
  std::atomic<std::uint64_t> id_{0};
  stored_value* stored_ = nullptr;
};

/// A counted handle of an object.
class object_handle {
 public:
  object_handle() noexcept = default;
  /// Takes over a handle that is already counted.
  explicit object_handle(object* counted) noexcept : object_(counted) {}
  object_handle(const object_handle& other) noexcept : object_(other.object_) {
    if (object_ != nullptr) object_->add_handle();
  }
  object_handle(object_handle&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  object_handle& operator=(object_handle other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~object_handle() {
    if (object_ != nullptr) object_->drop_handle();
  }

  [[nodiscard]] static object_handle share(object* one) noexcept {
    one->add_handle();
    return object_handle(one);
  }
  [[nodiscard]] object* get() const noexcept { return object_; }
  [[nodiscard]] object* release() noexcept { return std::exchange(object_, nullptr); }
  object* operator->() const noexcept { return object_; }
  explicit operator bool() const noexcept { return object_ != nullptr; }

 private:
  object* object_ = nullptr;
};

}  // namespace ray::detail
