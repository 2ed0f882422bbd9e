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

/// Hands calls to whichever actor has the fewest under way; `map` keeps up to two at each, so that
/// slow calls do not pile up behind one actor. One thread at a time uses a pool.
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
    using result = call_result<Function, std::ranges::range_reference_t<Range>>;
    std::vector<future<result>> futures;
    seats busy(actors_.size());
    for (auto&& element : range) {
      std::size_t seat = 0;
      while (!busy.find_free(seat)) busy.wait();
      futures.push_back(actors_[seat].call(function, std::forward<decltype(element)>(element)));
      busy.add(seat, detail::future_access::get(futures.back()));
    }
    return get(std::move(futures));
  }

  /// As `map`, but an input range of the results as they end; reading blocks, and makes the next
  /// calls. The range refers to `range` if that is an lvalue, and does not need the pool.
  template <typename Function, std::ranges::input_range Range>
  [[nodiscard]] auto map_unordered(Function function, Range&& range) {
    return result_range<Function, std::views::all_t<Range>>(
        actors_, std::move(function), std::views::all(std::forward<Range>(range)));
  }

  /// Calls `f(state, args...)` on an actor; `next` gives the result. Never blocks.
  template <typename Function, typename... Arguments>
  void submit(Function function, Arguments&&... arguments) {
    const std::size_t seat = under_way_.least_busy();
    auto result = actors_[seat].call(std::move(function), std::forward<Arguments>(arguments)...);
    using value = typename decltype(result)::value_type;
    detail::object* const object = detail::future_access::get(result);
    results_.push_back(std::make_unique<pending_of<value>>(std::move(result), seat, object));
    under_way_.add(seat, object);
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
  template <typename Function, typename Argument>
  using call_result = typename decltype(std::declval<actor<Class>&>().call(
      std::declval<Function&>(), std::declval<Argument>()))::value_type;

  /// The calls under way by actor. Each belongs to a future that the owner keeps.
  class seats {
   public:
    explicit seats(std::size_t count) : calls_(count) {}

    void add(std::size_t seat, detail::object* call) { calls_[seat].push_back(call); }
    void remove(std::size_t seat, detail::object* call) { std::erase(calls_[seat], call); }
    /// Forgets calls that have ended: their futures may go.
    void forget_ended() {
      for (auto& calls : calls_) {
        std::erase_if(calls, [](detail::object* one) { return one->is_ready(); });
      }
    }

    /// The actor with the fewest calls under way, the longest idle of equals.
    [[nodiscard]] std::size_t least_busy() {
      forget_ended();
      std::size_t best = 0;
      for (std::size_t i = 0; i < calls_.size(); ++i) {
        const std::size_t seat = (turn_ + i) % calls_.size();
        if (i == 0 || calls_[seat].size() < calls_[best].size()) best = seat;
      }
      turn_ = best + 1;
      return best;
    }
    /// The same; false when all have a call under way and another one waiting.
    [[nodiscard]] bool find_free(std::size_t& seat) {
      constexpr std::size_t most = 2;
      seat = least_busy();
      return calls_[seat].size() < most;
    }
    /// Blocks until one of the calls has ended.
    void wait() const {
      std::vector<detail::object*> all;
      for (const auto& calls : calls_) all.insert(all.end(), calls.begin(), calls.end());
      detail::wait_for_some(all, 1, forever);
    }

   private:
    std::vector<std::vector<detail::object*>> calls_;
    std::size_t turn_ = 0;
  };

  struct pending {
    pending(std::size_t at, detail::object* one) : seat(at), call(one) {}
    virtual ~pending() = default;
    std::size_t seat;
    detail::object* call;
  };
  template <typename Result>
  struct pending_of final : pending {
    pending_of(future<Result> one, std::size_t at, detail::object* call)
        : pending(at, call), result(std::move(one)) {}
    future<Result> result;
  };

  [[nodiscard]] std::unique_ptr<pending> pop() {
    if (results_.empty()) {
      throw usage_error(
          "ray::actor_pool: next() was called, but nothing submitted is left to take");
    }
    auto oldest = std::move(results_.front());
    results_.pop_front();
    under_way_.remove(oldest->seat, oldest->call);
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

  /// Calls for the elements of a view, a few ahead of the reader, and their results as they end.
  template <typename Function, typename View>
  class result_range {
    using value = call_result<Function, std::ranges::range_reference_t<View>>;

   public:
    class iterator {
     public:
      using value_type = value;
      using difference_type = std::ptrdiff_t;
      using iterator_concept = std::input_iterator_tag;
      iterator() = default;
      explicit iterator(result_range& range) : range_(&range) {}
      /// The value; its error is thrown here.
      value& operator*() const { return range_->current(); }
      iterator& operator++() {
        range_->advance();
        return *this;
      }
      void operator++(int) { ++*this; }
      friend bool operator==(const iterator& one, std::default_sentinel_t) noexcept {
        return one.at_end();
      }

     private:
      [[nodiscard]] bool at_end() const noexcept { return range_->at_end_; }

      result_range* range_ = nullptr;
    };

    result_range(std::vector<actor<Class>> actors, Function function, View view)
        : actors_(std::move(actors)),
          function_(std::move(function)),
          view_(std::move(view)),
          busy_(actors_.size()) {}
    result_range(result_range&&) = default;

    [[nodiscard]] iterator begin() {
      next_.emplace(std::ranges::begin(view_));
      advance();
      return iterator(*this);
    }
    [[nodiscard]] std::default_sentinel_t end() const noexcept { return {}; }

   private:
    value& current() {
      if (!value_) value_.emplace(get(std::move(current_)));
      return *value_;
    }

    void advance() {
      std::size_t seat = 0;
      while (*next_ != std::ranges::end(view_) && busy_.find_free(seat)) {
        calls_.push_back(actors_[seat].call(function_, **next_));
        busy_.add(seat, detail::future_access::get(calls_.back()));
        ++*next_;
      }
      value_.reset();
      current_ = {};
      at_end_ = calls_.empty();
      if (at_end_) return;
      const auto ended = [](const future<value>& one) { return one.ready(); };
      auto found = std::ranges::find_if(calls_, ended);
      if (found == calls_.end()) {
        busy_.wait();
        found = std::ranges::find_if(calls_, ended);
      }
      busy_.forget_ended();
      current_ = std::move(*found);
      calls_.erase(found);
    }

    std::vector<actor<Class>> actors_;
    Function function_;
    View view_;
    seats busy_;
    std::optional<std::ranges::iterator_t<View>> next_;
    std::deque<future<value>> calls_;  // under way or not yet read, the oldest first
    future<value> current_;
    std::optional<value> value_;  // of `current_`, once it was read
    bool at_end_ = false;
  };

  std::vector<actor<Class>> actors_;
  seats under_way_{actors_.size()};
  std::deque<std::unique_ptr<pending>> results_;
};

}  // namespace ray
