/// The bodies of tasks that combine futures: `then`, `when_all`, `split`. They run on this
/// process's pool when what they wait for is ready.
#pragma once

#include <ray/detail/api/submission.hpp>
#include <ray/detail/runtime/arguments.hpp>
#include <ray/detail/runtime/task.hpp>
#include <ray/detail/runtime/value_access.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <functional>
#include <optional>
#include <ranges>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace ray::detail {

template <typename Value, typename Function>
class then_body {
 public:
  template <typename Callable>
  then_body(object_handle source, Callable&& function)
      : source_(std::move(source)), function_(std::forward<Callable>(function)) {}

  decltype(auto) operator()() {
    if constexpr (std::is_void_v<Value>) {
      if ((source_->word() & object::failed) != 0) throw_error(source_.get());
      return std::invoke(function_);
    } else {
      pin_.emplace(source_.get());
      return std::invoke(function_, static_cast<const Value&>(**pin_));
    }
  }
  [[nodiscard]] object* pending() const noexcept {
    return source_->is_ready() ? nullptr : source_.get();
  }
  void await_arguments(task* owner) noexcept { add_dependency(owner, link_, source_.get()); }
  [[nodiscard]] std::string name() const { return "then"; }
  using of_the_library = void;

 private:
  object_handle source_;
  Function function_;
  std::optional<pinned_value<stored_result<Value>>> pin_;
  waiter link_;
};

template <typename Value, typename Function>
[[nodiscard]] auto chain(object_handle source, Function&& function) {
  return submit_body<then_body<Value, std::decay_t<Function>>>(
      nothing_to_prepare(), std::move(source), std::forward<Function>(function));
}

template <typename... Values>
class tuple_body {
 public:
  explicit tuple_body(std::array<object_handle, sizeof...(Values)> sources)
      : sources_(std::move(sources)) {}

  std::tuple<stored_result<Values>...> operator()() {
    return take(std::index_sequence_for<Values...>());
  }
  [[nodiscard]] object* pending() const noexcept {
    for (const auto& one : sources_) {
      if (!one->is_ready()) return one.get();
    }
    return nullptr;
  }
  void await_arguments(task* owner) noexcept {
    for (std::size_t i = 0; i < sources_.size(); ++i) {
      add_dependency(owner, links_[i], sources_[i].get());
    }
  }
  [[nodiscard]] std::string name() const { return "when_all"; }
  using of_the_library = void;

 private:
  template <std::size_t... Indexes>
  std::tuple<stored_result<Values>...> take(std::index_sequence<Indexes...>) {
    return {take_one<Values>(std::move(sources_[Indexes]))...};
  }
  template <typename Value>
  static stored_result<Value> take_one(object_handle source) {
    if constexpr (std::is_void_v<Value>) {
      if ((source->word() & object::failed) != 0) throw_error(source.get());
      return {};
    } else {
      return take_value<Value>(std::move(source));
    }
  }

  std::array<object_handle, sizeof...(Values)> sources_;
  std::array<waiter, sizeof...(Values)> links_;
};

template <typename Value>
class range_body {
 public:
  explicit range_body(std::vector<object_handle> sources)
      : sources_(std::move(sources)), links_(sources_.size()) {}

  auto operator()() {
    for (const auto& one : sources_) {
      if ((one->word() & object::failed) != 0) throw_error(one.get());
    }
    if constexpr (!std::is_void_v<Value>) {
      std::vector<Value> values;
      values.reserve(sources_.size());
      for (auto& one : sources_) values.push_back(take_value<Value>(std::move(one)));
      return values;
    }
  }
  [[nodiscard]] object* pending() noexcept {
    // What was ready stays so: begin where the last look ended. Threads may look at once, so the
    // hint is atomic; any value that it can have is right.
    std::size_t next = first_pending_.load(std::memory_order_relaxed);
    while (next < sources_.size() && sources_[next]->is_ready()) ++next;
    first_pending_.store(next, std::memory_order_relaxed);
    return next < sources_.size() ? sources_[next].get() : nullptr;
  }
  void await_arguments(task* owner) noexcept {
    for (std::size_t i = 0; i < sources_.size(); ++i) {
      add_dependency(owner, links_[i], sources_[i].get());
    }
  }
  [[nodiscard]] std::string name() const { return "when_all"; }
  using of_the_library = void;

 private:
  std::vector<object_handle> sources_;
  std::vector<waiter> links_;
  std::atomic<std::size_t> first_pending_{0};
};

template <typename Tuple, std::size_t Index>
class element_body {
 public:
  explicit element_body(object_handle source) : source_(std::move(source)) {}
  std::tuple_element_t<Index, Tuple> operator()() {
    const pinned_value<Tuple> whole(source_.get());
    return copy_of(std::get<Index>(static_cast<const Tuple&>(*whole)));
  }
  [[nodiscard]] object* pending() const noexcept {
    return source_->is_ready() ? nullptr : source_.get();
  }
  void await_arguments(task* owner) noexcept { add_dependency(owner, link_, source_.get()); }
  [[nodiscard]] std::string name() const { return "split"; }
  using of_the_library = void;

 private:
  object_handle source_;
  waiter link_;
};

template <typename Value>
object_handle require_handle(future<Value> one, const char* what) {
  object_handle handle = future_access::take(std::move(one));
  if (!handle) throw_empty_future(what);
  return handle;
}

/// Whether a range given as `Range` is an rvalue that may be emptied: not a view of another's.
template <typename Range>
inline constexpr bool owns_elements =
    !std::is_lvalue_reference_v<Range> && !std::is_const_v<Range> &&
    !std::ranges::view<std::remove_cvref_t<Range>>;

struct when_all_function {
  template <typename... Values>
  [[nodiscard]] auto operator()(future<Values>... futures) const {
    return submit_body<tuple_body<Values...>>(
        nothing_to_prepare(), std::array<object_handle, sizeof...(Values)>{
                                  require_handle(std::move(futures), "when_all")...});
  }
  template <std::ranges::input_range Range>
    requires is_future<std::remove_cvref_t<std::ranges::range_value_t<Range>>>
  [[nodiscard]] auto operator()(Range&& range) const {
    using value = typename std::ranges::range_value_t<Range>::value_type;
    std::vector<object_handle> sources;
    for (auto&& one : range) {
      if constexpr (owns_elements<Range>) {
        sources.push_back(require_handle(future<value>(std::move(one)), "when_all"));
      } else {
        sources.push_back(require_handle(future<value>(one), "when_all"));
      }
    }
    return submit_body<range_body<value>>(nothing_to_prepare(), std::move(sources));
  }
};

struct split_function {
  template <typename... Values>
  [[nodiscard]] std::tuple<future<Values>...> operator()(
      const future<std::tuple<Values...>>& whole) const {
    return parts(require_handle(whole, "split"), std::index_sequence_for<Values...>(),
                 static_cast<std::tuple<Values...>*>(nullptr));
  }
  template <typename First, typename Second>
  [[nodiscard]] std::tuple<future<First>, future<Second>> operator()(
      const future<std::pair<First, Second>>& whole) const {
    return parts(require_handle(whole, "split"), std::index_sequence<0, 1>(),
                 static_cast<std::pair<First, Second>*>(nullptr));
  }

 private:
  template <typename Tuple, std::size_t... Indexes>
  static auto parts(const object_handle& source, std::index_sequence<Indexes...>, Tuple*) {
    return std::tuple{submit_body<element_body<Tuple, Indexes>>(nothing_to_prepare(), source)...};
  }
};

}  // namespace ray::detail
