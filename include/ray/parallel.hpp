/// Loops over ranges: `parallel_for` and `transform_reduce` on this process's pool, which return
/// when done, so that their functions may capture by reference; `map` over the cluster.
#pragma once

#include <ray/detail/api/loop.hpp>
#include <ray/future.hpp>
#include <ray/remote.hpp>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <iterator>
#include <optional>
#include <ranges>
#include <type_traits>
#include <utility>
#include <vector>

namespace ray {

namespace detail {

template <typename Range>
concept divisible_range =
    std::ranges::random_access_range<Range> && std::ranges::sized_range<Range>;

struct parallel_for_function {
  template <divisible_range Range, typename Function>
    requires std::invocable<Function&, std::ranges::range_reference_t<Range>>
  void operator()(Range&& range, Function&& function, std::size_t grain = 0) const {
    const auto first = std::ranges::begin(range);
    run_loop(static_cast<std::size_t>(std::ranges::size(range)), grain,
             [&](std::size_t begin, std::size_t end) {
               for (std::size_t i = begin; i < end; ++i) {
                 function(first[static_cast<std::ranges::range_difference_t<Range>>(i)]);
               }
             });
  }
};

struct transform_reduce_function {
  template <divisible_range Range, typename Value, typename Reduce, typename Transform>
  Value operator()(Range&& range, Value init, Reduce&& reduce, Transform&& transform) const {
    const auto size = static_cast<std::size_t>(std::ranges::size(range));
    const auto first = std::ranges::begin(range);
    const loop_shape shape(size, 0);
    // Each chunk's sum in its own place: the result depends on the chunks, not on who ran them.
    std::vector<std::optional<Value>> parts(shape.chunks());
    run_loop(size, shape.grain(), [&](std::size_t begin, std::size_t end) {
      const auto at = [&](std::size_t i) -> decltype(auto) {
        return transform(first[static_cast<std::ranges::range_difference_t<Range>>(i)]);
      };
      Value sum(at(begin));
      for (std::size_t i = begin + 1; i < end; ++i) sum = reduce(std::move(sum), at(i));
      parts[begin / shape.grain()].emplace(std::move(sum));
    });
    for (auto& part : parts) {
      if (part) init = reduce(std::move(init), std::move(*part));
    }
    return init;
  }
};

template <typename Function>
inline constexpr bool is_remote = false;
template <typename Function>
inline constexpr bool is_remote<remote_function<Function>> = true;

struct map_function {
  template <std::ranges::input_range Range, typename Function>
  [[nodiscard]] auto operator()(Range&& range, Function&& function) const {
    if constexpr (is_remote<std::decay_t<Function>>) {
      using result = decltype(function(*std::ranges::begin(range)));
      std::vector<result> futures;
      if constexpr (std::ranges::sized_range<Range>) {
        futures.reserve(static_cast<std::size_t>(std::ranges::size(range)));
      }
      for (auto&& one : range) futures.push_back(function(std::forward<decltype(one)>(one)));
      return futures;
    } else {
      return (*this)(std::forward<Range>(range), remote(std::forward<Function>(function)));
    }
  }
};

}  // namespace detail

/// Calls `fn(element)` for each element of a random-access range, on this process's pool and this
/// thread, in chunks of `grain` elements (0: chosen); returns when all have returned. When a call
/// throws, no further chunk begins, and the first exception is rethrown.
inline constexpr detail::parallel_for_function parallel_for{};

/// `reduce` of `init` and `transform(element)` of all elements; `reduce` must be associative. The
/// order of the operands is kept, and the result does not depend on the number of threads.
inline constexpr detail::transform_reduce_function transform_reduce{};

/// The futures of `f(element)` for each element; `f` is a callable that travels or a remote
/// function.
inline constexpr detail::map_function map{};

}  // namespace ray
