/// `ray::generator<R>`, a coroutine that yields values, and `ray::stream<R>`, the range that its
/// reader sees. The producer runs ahead by `task_options::stream_buffer` items, then waits without
/// a thread.
#pragma once

#include <ray/detail/base/travel_rules.hpp>
#include <ray/detail/runtime/coroutine.hpp>
#include <ray/detail/runtime/stream_core.hpp>
#include <ray/detail/runtime/task.hpp>
#include <ray/serializable.hpp>

#include <coroutine>
#include <cstddef>
#include <deque>
#include <exception>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>

namespace ray {

namespace detail {

struct stream_access;

/// The items on their way from a generator to its reader.
template <typename Value>
struct stream_state : stream_core {
  std::deque<Value> items;  // under the core's mutex
};

}  // namespace detail

/// A coroutine that makes values with `co_yield` and may `co_await`. A function that returns one
/// runs as a task; its call returns a `stream`.
template <typename Value>
class [[nodiscard]] generator {
 public:
  class promise_type;

  generator(generator&& other) noexcept : coroutine_(std::exchange(other.coroutine_, nullptr)) {}
  generator& operator=(generator&& other) noexcept {
    std::swap(coroutine_, other.coroutine_);
    return *this;
  }
  ~generator() {
    if (coroutine_) coroutine_.destroy();
  }

 private:
  friend struct detail::coroutine_access;
  explicit generator(std::coroutine_handle<promise_type> coroutine) noexcept
      : coroutine_(coroutine) {}
  std::coroutine_handle<promise_type> coroutine_;
};

template <typename Value>
class generator<Value>::promise_type : public detail::coroutine_promise,
                                       public detail::coroutine_result<void> {
 public:
  [[nodiscard]] generator get_return_object() noexcept {
    return generator(std::coroutine_handle<promise_type>::from_promise(*this));
  }
  void unhandled_exception() noexcept { set_error(std::current_exception()); }

  class yielded {
   public:
    yielded(detail::stream_core& stream, bool waits) noexcept : stream_(stream), waits_(waits) {}
    yielded(yielded&& other) noexcept : stream_(other.stream_), waits_(other.waits_) {}
    [[nodiscard]] bool await_ready() const noexcept { return !waits_; }
    void await_suspend(std::coroutine_handle<> where) {
      waiting_.emplace();
      stream_.wait_for_room(*waiting_, where);
    }
    void await_resume() {
      if (waiting_) stream_.room_awaited();
      waiting_.reset();
      detail::throw_if_interrupted();
    }

   private:
    detail::stream_core& stream_;
    bool waits_;
    std::optional<detail::suspension> waiting_;
  };

  template <typename Item>
  [[nodiscard]] yielded yield_value(Item&& item) {
    // Another attempt makes again what the reader has: that is dropped.
    if (position_++ < stream->made()) return yielded(*stream, false);
    const auto lock = stream->lock();
    stream->items.emplace_back(std::forward<Item>(item));
    return yielded(*stream, stream->added(lock));
  }

  detail::stream_state<Value>* stream = nullptr;

 private:
  std::size_t position_ = 0;
};

/// An input range of values in the order made, each read once; reading blocks until the next is
/// there. Move-only; dropping it cancels the task. Rethrows the task's error after its last value.
template <typename Value>
class [[nodiscard]] stream {
 public:
  class iterator {
   public:
    using value_type = Value;
    using difference_type = std::ptrdiff_t;
    using reference = Value&;
    using pointer = Value*;
    using iterator_category = std::input_iterator_tag;
    using iterator_concept = std::input_iterator_tag;

    iterator() noexcept = default;
    Value& operator*() const { return *stream_->current_; }
    Value* operator->() const { return &*stream_->current_; }
    iterator& operator++() {
      if (!stream_->advance()) stream_ = nullptr;
      return *this;
    }
    void operator++(int) { ++*this; }
    friend bool operator==(const iterator& one, std::default_sentinel_t) noexcept {
      return one.stream_ == nullptr;
    }

   private:
    friend class stream;
    explicit iterator(stream* one) : stream_(one) {}
    stream* stream_ = nullptr;
  };

  stream() noexcept = default;
  stream(stream&&) noexcept = default;
  stream& operator=(stream&& other) noexcept {
    std::swap(state_, other.state_);
    std::swap(current_, other.current_);
    return *this;
  }
  ~stream() {
    if (state_ != nullptr) state_->drop();
  }

  /// The next value; nothing when the stream has ended. Blocks; rethrows the task's error.
  [[nodiscard]] std::optional<Value> next() {
    if (!advance()) return std::nullopt;
    return std::move(current_);
  }

  /// Blocks for the first value that is not yet read.
  [[nodiscard]] iterator begin() { return advance() ? iterator(this) : iterator(); }
  [[nodiscard]] std::default_sentinel_t end() const noexcept { return {}; }
  [[nodiscard]] bool valid() const noexcept { return state_ != nullptr; }

 private:
  friend struct detail::stream_access;
  explicit stream(std::shared_ptr<detail::stream_state<Value>> state) noexcept
      : state_(std::move(state)) {}

  bool advance() {
    current_.reset();
    if (state_ == nullptr) detail::throw_empty_future("reading an empty stream");
    auto lock = state_->lock();
    if (!state_->wait_for_item(lock)) return false;
    current_.emplace(std::move(state_->items.front()));
    state_->items.pop_front();
    state_->taken(lock);
    return true;
  }

  std::shared_ptr<detail::stream_state<Value>> state_;
  std::optional<Value> current_;
};

namespace detail {

template <typename Value>
struct travel_rule<stream<Value>> : travel::refused<obstacle::stream> {};

struct stream_access {
  template <typename Value>
  [[nodiscard]] static stream<Value> make(std::shared_ptr<stream_state<Value>> state) noexcept {
    return stream<Value>(std::move(state));
  }
};

/// A generator that has been made and the stream that it feeds.
template <typename Value>
struct fed_generator {
  generator<Value> coroutine;
  std::shared_ptr<stream_state<Value>> stream;
};

/// The body of a call whose function returns a generator: adds the stream.
template <typename Body, typename Value>
class stream_body {
 public:
  template <typename... Arguments>
  explicit stream_body(std::shared_ptr<stream_state<Value>> stream, Arguments&&... arguments)
      : body_(std::forward<Arguments>(arguments)...), stream_(std::move(stream)) {}
  fed_generator<Value> operator()() { return {body_(), stream_}; }
  [[nodiscard]] object* pending() noexcept { return body_.pending(); }
  void await_arguments(ray::detail::task* owner) noexcept { body_.await_arguments(owner); }
  void copy_into(void* memory) const {
    body_.copy_into(&static_cast<stream_body*>(memory)->body_);
    new (&static_cast<stream_body*>(memory)->stream_) std::shared_ptr<stream_state<Value>>(stream_);
  }
  [[nodiscard]] std::string name() const { return body_.name(); }

 private:
  Body body_;
  std::shared_ptr<stream_state<Value>> stream_;
};

template <typename Block, typename Value>
class generator_context final : public coroutine_context {
 public:
  generator_context(Block& block, fed_generator<Value> source)
      : coroutine_context(&block), block_(block), source_(std::move(source)) {
    auto& promise = coroutine_access::handle(source_.coroutine).promise();
    promise.context = this;
    promise.stream = source_.stream.get();
  }
  [[nodiscard]] std::coroutine_handle<> beginning() const noexcept {
    return coroutine_access::handle(source_.coroutine);
  }

 private:
  void finish() noexcept override {
    Block& block = block_;
    std::exception_ptr error;
    try {
      coroutine_access::handle(source_.coroutine).promise().take();
      new (block.result_storage()) std::monostate();
    } catch (...) {
      error = std::current_exception();
    }
    delete this;
    finish_coroutine(&block, std::move(error));
  }

  Block& block_;
  fed_generator<Value> source_;
};

template <typename Value>
struct returned_traits<fed_generator<Value>> {
  using value_type = void;
  static constexpr bool immediate = false;
  template <typename Block>
  static outcome start(Block& block, auto& body) {
    auto* context = new generator_context<Block, Value>(block, body());
    coroutine_context::run(context, context->beginning());
    return outcome::suspended;
  }
};

/// A generator's call: what `submit_call` and `actor::call` put in place of the plain block.
template <typename Value>
struct returned_traits<generator<Value>> {
  using value_type = Value;
  static constexpr bool immediate = true;
};

template <typename Returned>
inline constexpr bool is_generator = false;
template <typename Value>
inline constexpr bool is_generator<generator<Value>> = true;

}  // namespace detail

}  // namespace ray
