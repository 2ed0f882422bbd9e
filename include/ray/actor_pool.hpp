/// `ray::actor_pool<T>`: work for a set of actors, each busy with one call at a time.
#pragma once

#include <ray/actor.hpp>
#include <ray/error.hpp>
#include <ray/future.hpp>

#include <cstddef>
#include <deque>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <ranges>
#include <type_traits>
#include <utility>
#include <vector>

namespace ray {

/// Hands calls to whichever actor has the fewest under way. One thread at a time uses a pool.
template <typename Class>
class actor_pool {
 public:
  /// Throws usage_error when there are no actors.
  explicit actor_pool(std::vector<actor<Class>> actors) : actors_(std::move(actors)) {
    if (actors_.empty()) {
      throw usage_error("ray::actor_pool: a pool needs one actor at least; make some first");
    }
    for (const auto& one : actors_) {
      if (!one.valid()) detail::throw_empty_actor("in an actor_pool");
    }
  }

  /// `f(actor's state, element)` for each element; the results in the range's order. Blocks.
  /// Rethrows the first error.
  template <typename Function, std::ranges::input_range Range>
  [[nodiscard]] auto map(Function function, Range&& range) {
    auto futures = call_all(std::move(function), std::forward<Range>(range));
    return get(std::move(futures));
  }

  /// As `map`, but an input range of the results as they end; reading blocks.
  template <typename Function, std::ranges::input_range Range>
  [[nodiscard]] auto map_unordered(Function function, Range&& range) {
    auto futures = call_all(std::move(function), std::forward<Range>(range));
    using value = typename decltype(futures)::value_type::value_type;
    return result_range<value>(as_completed(std::move(futures)));
  }

  /// Calls `f(state, args...)` on the next actor; `next` gives the result. Never blocks.
  template <typename Function, typename... Arguments>
  void submit(Function function, Arguments&&... arguments) {
    auto result = next_actor().call(std::move(function), std::forward<Arguments>(arguments)...);
    using value = typename decltype(result)::value_type;
    results_.push_back(std::make_unique<pending_of<value>>(std::move(result)));
  }

  /// The result of the oldest submitted call that was not yet taken. Blocks. Throws usage_error
  /// when there is none, or when the call's result is of another type.
  template <typename Result>
  Result next() {
    return take<Result>(pop());
  }

  /// The same, where the type is given by what it initializes: `int n = pool.next();`.
  auto next() { return oldest_result(pop()); }

  /// Whether all submitted results have been taken.
  [[nodiscard]] bool empty() const noexcept { return results_.empty(); }

 private:
  struct pending {
    virtual ~pending() = default;
  };
  template <typename Result>
  struct pending_of final : pending {
    explicit pending_of(future<Result> one) : result(std::move(one)) {}
    future<Result> result;
  };

  [[nodiscard]] std::unique_ptr<pending> pop() {
    if (results_.empty()) {
      throw usage_error(
          "ray::actor_pool: next() was called, but nothing submitted is left to take");
    }
    auto oldest = std::move(results_.front());
    results_.pop_front();
    return oldest;
  }

  template <typename Result>
  static Result take(std::unique_ptr<pending> one) {
    auto* typed = dynamic_cast<pending_of<Result>*>(one.get());
    if (typed == nullptr) {
      throw usage_error(
          "ray::actor_pool: next() was asked for another type than the result of the "
          "oldest call has; name that type");
    }
    return get(std::move(typed->result));
  }

  /// A result that becomes a value when its type is known.
  class oldest_result {
   public:
    explicit oldest_result(std::unique_ptr<pending> one) : pending_(std::move(one)) {}
    template <typename Result>
    operator Result() && {  // NOLINT: converts like the value it stands for
      return take<Result>(std::move(pending_));
    }

   private:
    std::unique_ptr<pending> pending_;
  };

  /// The values of futures as they end.
  template <typename Value>
  class result_range {
   public:
    class iterator {
     public:
      using value_type = Value;
      using difference_type = std::ptrdiff_t;
      using iterator_concept = std::input_iterator_tag;
      iterator() = default;
      explicit iterator(typename detail::completed_range<Value>::iterator at) : at_(at) {}
      Value operator*() const { return get(std::move(*at_)); }
      iterator& operator++() {
        ++at_;
        return *this;
      }
      void operator++(int) { ++at_; }
      friend bool operator==(const iterator& one, std::default_sentinel_t end) noexcept {
        return one.at_ == end;
      }

     private:
      typename detail::completed_range<Value>::iterator at_;
    };
    explicit result_range(detail::completed_range<Value> futures) : futures_(std::move(futures)) {}
    [[nodiscard]] iterator begin() { return iterator(futures_.begin()); }
    [[nodiscard]] std::default_sentinel_t end() const noexcept { return {}; }

   private:
    detail::completed_range<Value> futures_;
  };

  template <typename Function, typename Range>
  auto call_all(Function function, Range&& range) {
    using result = decltype(actors_[0].call(function, *std::ranges::begin(range)));
    std::vector<result> futures;
    for (auto&& one : range) {
      futures.push_back(next_actor().call(function, std::forward<decltype(one)>(one)));
    }
    return futures;
  }

  actor<Class>& next_actor() { return actors_[turn_++ % actors_.size()]; }

  std::vector<actor<Class>> actors_;
  std::size_t turn_ = 0;
  std::deque<std::unique_ptr<pending>> results_;
};

}  // namespace ray
