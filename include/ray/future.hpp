/// `ray::future<T>`: a copyable handle of an immutable object in the object store, and what can be
/// done with it: get, view, wait, chain, combine, cancel. The object lives while any handle does.
///
/// Everything here may be called from any thread; one handle object used by several threads follows
/// the rules of `std::shared_ptr`. The free functions are function objects, so that no unqualified
/// call of a user's own `wait` or `get` becomes ours.
#pragma once

#include <ray/detail/api/combine.hpp>
#include <ray/detail/base/by_name.hpp>
#include <ray/detail/runtime/arguments.hpp>
#include <ray/detail/runtime/completion.hpp>
#include <ray/detail/runtime/coroutine.hpp>
#include <ray/detail/runtime/exported.hpp>
#include <ray/detail/runtime/task.hpp>
#include <ray/detail/runtime/value_access.hpp>
#include <ray/duration.hpp>
#include <ray/fwd.hpp>
#include <ray/id.hpp>

#include <chrono>
#include <concepts>
#include <cstddef>
#include <functional>
#include <iterator>
#include <memory>
#include <ranges>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace ray {

/// A handle of the result of a task, a call, or a `put`. Empty when default-constructed.
///
/// Dropping one neither blocks nor cancels. Every member but `valid`, comparison and destruction
/// throws usage_error on an empty future, and the waiting ones without a session.
template <typename Value>
class future {
 public:
  using value_type = Value;

  future() noexcept = default;

  /// Blocks until the value is there and copies it out; rethrows the task's error. Inside a task
  /// the CPU slot is lent meanwhile. May run on this thread what nobody has begun: hold no lock.
  Value get() const&;
  /// As above, but moves the value out when no other handle, view or task uses it; the future is
  /// empty afterwards.
  Value get() &&;

  /// Blocks until the object has ended, well or not.
  void wait() const { detail::wait_until_ready(require("wait")); }
  /// Blocks for at most `timeout`; whether the object has ended.
  bool wait_for(duration timeout) const {
    return detail::wait_until_ready(require("wait_for"), timeout);
  }
  /// Whether the object has ended, well or not. Never blocks.
  [[nodiscard]] bool ready() const { return require("ready")->is_ready(); }
  /// Whether it has ended with an error. Never blocks.
  [[nodiscard]] bool failed() const {
    return (require("failed")->word() & detail::object::failed) != 0;
  }
  [[nodiscard]] bool valid() const noexcept { return static_cast<bool>(handle_); }
  [[nodiscard]] object_id id() const { return {detail::process_id_prefix(), require("id")->id()}; }

  /// Blocks until the value is there; the object itself, without a copy. It stays in memory while
  /// the pointer, or a copy of it, is held, also when all futures are gone or the session is over.
  [[nodiscard]] std::shared_ptr<const Value> view() const
    requires(!std::is_void_v<Value>);

  /// The future of `fn(value)`, flattened, run on this process's pool when the object is ready.
  /// `fn` may capture anything. An error passes it by.
  template <typename Function>
  auto then(Function&& function) const {
    return detail::chain<Value>(detail::object_handle::share(require("then")),
                                std::forward<Function>(function));
  }

  friend bool operator==(const future& left, const future& right) noexcept {
    return left.handle_.get() == right.handle_.get();
  }

  template <typename Archive>
  void save(Archive& archive) const {
    archive(detail::export_handle(handle_.get(), std::make_shared<detail::object_handle>(handle_)));
  }
  template <typename Archive>
  void load(Archive& archive) {
    detail::exported_handle one;
    archive(one);
    const auto kept = detail::import_handle(one);
    handle_ = kept == nullptr ? detail::object_handle()
                              : *static_cast<const detail::object_handle*>(kept.get());
  }

 private:
  friend struct detail::future_access;
  explicit future(detail::object_handle handle) noexcept : handle_(std::move(handle)) {}

  [[nodiscard]] detail::object* require(const char* what) const {
    if (!handle_) detail::throw_empty_future(what);
    return handle_.get();
  }

  detail::object_handle handle_;
};

/// What `wait` found: futures that have ended, and the others, each in the order given.
template <typename Value>
struct wait_result {
  std::vector<future<Value>> ready = {};
  std::vector<future<Value>> pending = {};
};

/// Of `wait`.
struct wait_options {
  detail::by_name only_by_name = detail::by_name();
  std::size_t num_returns = 1;  // return when so many have ended
  duration timeout = forever;   // or when this has passed
};

/// Of `cancel`.
struct cancel_options {
  detail::by_name only_by_name = detail::by_name();
  bool force = false;     // also end the process of an isolated task
  bool recursive = true;  // cancel what the task has started, too
};

namespace detail {

template <typename Range>
concept range_of_futures = std::ranges::input_range<Range> &&
                           is_future<std::remove_cvref_t<std::ranges::range_value_t<Range>>>;

template <typename Range>
using range_future_value = typename std::ranges::range_value_t<Range>::value_type;

/// What a future of `Value` stands for in a tuple.
template <typename Value>
using tuple_value = stored_result<Value>;

/// The value of a ready object, or nothing of a `future<void>`.
template <typename Value>
Value copy_result(object* one) {
  if constexpr (std::is_void_v<Value>) {
    if ((one->word() & object::failed) != 0) throw_error(one);
  } else {
    static_assert(copyable<Value>,
                  "ray: get of a const future copies its value, and this type cannot be copied: "
                  "use ray::get(std::move(future)) or future.view()");
    return copy_value<Value>(one);
  }
}

template <typename Value>
Value take_result(object_handle handle) {
  if constexpr (std::is_void_v<Value>) {
    if ((handle->word() & object::failed) != 0) throw_error(handle.get());
  } else {
    return take_value<Value>(std::move(handle));
  }
}

template <typename Value>
tuple_value<Value> copy_tuple_value(object* one) {
  if constexpr (std::is_void_v<Value>) {
    copy_result<void>(one);
    return {};
  } else {
    return copy_result<Value>(one);
  }
}

template <typename Value>
[[nodiscard]] object* require_object(const future<Value>& one, const char* what) {
  object* found = future_access::get(one);
  if (found == nullptr) throw_empty_future(what);
  return found;
}

/// Whether a range gives the same futures each time it is read. Others make them while they are
/// read.
template <typename Range>
concept keeps_its_futures = std::ranges::forward_range<Range> &&
                            std::is_lvalue_reference_v<std::ranges::range_reference_t<Range>>;

/// A range of futures read once: handles that stay.
template <typename Range>
auto kept_futures(Range&& range) {
  std::vector<future<range_future_value<Range>>> kept;
  if constexpr (std::ranges::sized_range<Range>) {
    kept.reserve(static_cast<std::size_t>(std::ranges::size(range)));
  }
  for (auto&& one : range) kept.push_back(std::forward<decltype(one)>(one));
  return kept;
}

/// The objects behind a range of futures, for the functions that know no types. The range keeps
/// them.
template <typename Range>
std::vector<object*> objects_of(Range& range, const char* what) {
  std::vector<object*> objects;
  if constexpr (std::ranges::sized_range<Range>) {
    objects.reserve(static_cast<std::size_t>(std::ranges::size(range)));
  }
  for (const auto& one : range) objects.push_back(require_object(one, what));
  return objects;
}

struct get_function {
  template <typename Value>
  Value operator()(const future<Value>& one) const {
    object* found = require_object(one, "get");
    wait_until_ready(found);
    return copy_result<Value>(found);
  }
  template <typename Value>
  Value operator()(future<Value>&& one) const {
    wait_until_ready(require_object(one, "get"));
    return take_result<Value>(future_access::take(std::move(one)));
  }
  template <typename Value>
  Value operator()(const future<Value>& one, duration timeout) const {
    object* found = require_object(one, "get");
    if (!wait_until_ready(found, timeout)) throw_get_timeout(found, timeout);
    return copy_result<Value>(found);
  }
  template <typename Value>
  Value operator()(future<Value>&& one, duration timeout) const {
    object* found = require_object(one, "get");
    if (!wait_until_ready(found, timeout)) throw_get_timeout(found, timeout);
    return take_result<Value>(future_access::take(std::move(one)));
  }

  template <typename First, typename Second, typename... Rest>
  std::tuple<tuple_value<First>, tuple_value<Second>, tuple_value<Rest>...> operator()(
      const future<First>& first, const future<Second>& second, const future<Rest>&... rest) const {
    for (object* one : {require_object(first, "get"), require_object(second, "get"),
                        require_object(rest, "get")...}) {
      wait_until_ready(one);
    }
    // Braces evaluate in order, so the first error is the first future's.
    return {copy_tuple_value<First>(future_access::get(first)),
            copy_tuple_value<Second>(future_access::get(second)),
            copy_tuple_value<Rest>(future_access::get(rest))...};
  }

  template <range_of_futures Range>
  auto operator()(Range&& range) const {
    return from_range(std::forward<Range>(range), forever);
  }
  template <range_of_futures Range>
  auto operator()(Range&& range, duration timeout) const {
    return from_range(std::forward<Range>(range), timeout);
  }

 private:
  template <typename Range>
  static auto from_range(Range&& range, duration timeout) {
    using value = range_future_value<Range>;
    constexpr bool moves = owns_elements<Range>;
    if constexpr (!keeps_its_futures<Range>) {
      return from_range(kept_futures(range), timeout);
    } else {
      wait_for_all(objects_of(range, "get"), timeout);
      if constexpr (std::is_void_v<value>) {
        for (const auto& one : range) copy_result<void>(future_access::get(one));
      } else {
        // The first error in the range's order is thrown before anything is moved out.
        for (const auto& one : range) throw_if_failed(future_access::get(one));
        std::vector<value> values;
        if constexpr (std::ranges::sized_range<Range>) {
          values.reserve(static_cast<std::size_t>(std::ranges::size(range)));
        }
        for (auto& one : range) {
          if constexpr (moves) {
            values.push_back(take_result<value>(future_access::take(std::move(one))));
          } else {
            values.push_back(copy_result<value>(future_access::get(one)));
          }
        }
        return values;
      }
    }
  }
};

struct put_function {
  template <typename Value>
  [[nodiscard]] future<std::decay_t<Value>> operator()(Value&& value) const {
    using kept = std::decay_t<Value>;
    static_assert(!is_future<kept>, "ray: put takes a value; a future is one already");
    require_serializable<kept>();
    require_session();
    object_handle handle(make_block<value_block<kept>>(std::forward<Value>(value)));
    if constexpr (!std::is_trivially_copyable_v<kept>) handle->track();
    return future_access::make<kept>(std::move(handle));
  }
};

struct wait_function {
  template <range_of_futures Range>
  auto operator()(Range&& range, wait_options options = wait_options()) const {
    using value = range_future_value<Range>;
    auto all = kept_futures(range);
    wait_for_some(objects_of(all, "wait"), options.num_returns, options.timeout);
    wait_result<value> result;
    for (auto& one : all) {
      (one.ready() ? result.ready : result.pending).push_back(std::move(one));
    }
    return result;
  }
};

struct cancel_function {
  template <typename Value>
  void operator()(const future<Value>& one, cancel_options options = cancel_options()) const {
    cancel_object(require_object(one, "cancel"), options.force, options.recursive);
  }
};

/// Futures in the order in which they end; see `as_completed`.
template <typename Value>
class completed_range {
 public:
  class iterator {
   public:
    using value_type = future<Value>;
    using difference_type = std::ptrdiff_t;
    using reference = future<Value>&;
    using pointer = future<Value>*;
    using iterator_category = std::input_iterator_tag;

    iterator() noexcept = default;
    explicit iterator(completed_range& range) : range_(&range) { advance(); }
    future<Value>& operator*() const { return range_->futures_[range_->current_]; }
    future<Value>* operator->() const { return &**this; }
    iterator& operator++() {
      advance();
      return *this;
    }
    void operator++(int) { advance(); }
    friend bool operator==(const iterator& one, std::default_sentinel_t) noexcept {
      return one.range_ == nullptr;
    }

   private:
    void advance() {
      if (!range_->completed_.next(range_->current_)) range_ = nullptr;
    }
    completed_range* range_ = nullptr;
  };

  explicit completed_range(std::vector<future<Value>> futures)
      : futures_(std::move(futures)), completed_(objects_of(futures_, "as_completed")) {}

  [[nodiscard]] iterator begin() { return iterator(*this); }
  [[nodiscard]] std::default_sentinel_t end() const noexcept { return {}; }

 private:
  std::vector<future<Value>> futures_;
  completion_queue completed_;
  std::size_t current_ = 0;
};

struct as_completed_function {
  template <range_of_futures Range>
  auto operator()(Range&& range) const {
    return completed_range<range_future_value<Range>>(kept_futures(range));
  }
};

}  // namespace detail

/// Blocks until the value, or all values, are there; see `future::get`. Of a range: a vector, or
/// nothing for futures of void; an rvalue range moves the values out. Of several futures: a tuple.
/// With a timeout it throws timeout_error, and the futures are as before.
inline constexpr detail::get_function get{};

/// Stores a value. A contiguous one given as an rvalue is moved, not copied. O(1) but for the copy.
/// Throws out_of_memory_error when it is larger than the object store's memory.
inline constexpr detail::put_function put{};

/// Blocks until `num_returns` of the futures have ended, or the timeout has passed. O(n).
inline constexpr detail::wait_function wait{};

/// An input range of the futures, each as it ends; iterating blocks. It holds handles of its own.
inline constexpr detail::as_completed_function as_completed{};

/// Asks for the task of a future to end: the future ends with cancelled_error at once; a task that
/// runs is asked by its stop token. Does nothing to what has ended.
inline constexpr detail::cancel_function cancel{};

/// The future of all values, as a tuple, or of a range as a vector. When all have ended, the first
/// error passes on. Never blocks.
inline constexpr detail::when_all_function when_all{};

/// The parts of a future tuple, each a future of its own.
inline constexpr detail::split_function split{};

namespace detail {
template <typename Value>
[[nodiscard]] future_awaiter<Value> await(future<Value> one, bool takes) {
  object_handle handle = future_access::take(std::move(one));
  if (!handle) throw_empty_future("co_await");
  return future_awaiter<Value>(std::move(handle), takes);
}
}  // namespace detail

/// Inside a coroutine: suspends until the value is there, and copies it out, or moves it out of an
/// rvalue that is the only handle.
template <typename Value>
auto operator co_await(const future<Value>& one) {
  return detail::await(one, false);
}
template <typename Value>
auto operator co_await(future<Value>&& one) {
  return detail::await(std::move(one), true);
}

template <typename Value>
Value future<Value>::get() const& {
  return ray::get(*this);
}

template <typename Value>
Value future<Value>::get() && {
  return ray::get(std::move(*this));
}

template <typename Value>
std::shared_ptr<const Value> future<Value>::view() const
  requires(!std::is_void_v<Value>)
{
  detail::object* one = require("view");
  detail::wait_until_ready(one);
  struct holder {
    detail::object_handle handle;
    detail::pinned_value<Value> value;
  };
  auto held = std::shared_ptr<holder>(
      new holder{detail::object_handle::share(one), detail::pinned_value<Value>(one)});
  return std::shared_ptr<const Value>(held, &*held->value);
}

}  // namespace ray

template <typename Value>
struct std::hash<ray::future<Value>> {
  std::size_t operator()(const ray::future<Value>& one) const noexcept {
    return std::hash<ray::detail::object*>()(ray::detail::future_access::get(one));
  }
};
