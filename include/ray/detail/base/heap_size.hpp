/// How much memory a value holds on the heap, as far as it can be told without walking through it.
///
/// Exact for strings and vectors; containers of nodes are counted as libstdc++ lays them out. A
/// type of which only walking through everything would tell has no heap size.
#pragma once

#include <cstddef>
#include <type_traits>

#include <ray/serializable.hpp>

namespace ray::detail {

/// What it costs to ask.
enum class heap_cost {
  nothing_held,  // the answer is 0
  constant,
  each_element,  // one step for each element of the outer container
  unknown,
};

/// The general case: bytes that are their value hold nothing; of other classes nothing is known.
template <typename T>
struct heap {
  static constexpr heap_cost cost =
      std::is_trivially_copyable_v<T> ? heap_cost::nothing_held : heap_cost::unknown;
  static std::size_t of(const T&) { return 0; }
};

namespace heap_sizes {

constexpr heap_cost largest(heap_cost first, heap_cost second) {
  return first < second ? second : first;
}

/// A product costs what its dearest part costs; asking all of them is still constant.
template <typename... Part>
constexpr heap_cost of_parts() {
  heap_cost cost = heap_cost::nothing_held;
  ((cost = largest(cost, heap<Part>::cost)), ...);
  return cost;
}

/// A container of parts that hold nothing is asked for its size alone.
template <typename... Part>
constexpr heap_cost of_elements() {
  switch (of_parts<Part...>()) {
    case heap_cost::nothing_held:
      return heap_cost::constant;
    case heap_cost::constant:
      return heap_cost::each_element;
    default:
      return heap_cost::unknown;
  }
}

template <typename Container>
std::size_t sum_of_elements(const Container& container) {
  using element = typename Container::value_type;
  std::size_t bytes = 0;
  if constexpr (heap<element>::cost != heap_cost::nothing_held) {
    for (const auto& value : container) bytes += heap<element>::of(value);
  }
  return bytes;
}

/// Containers that allocate a node for each element, with `Overhead` bytes of links in it.
template <typename Container, std::size_t Overhead>
struct nodes {
  using element = typename Container::value_type;
  static constexpr heap_cost cost = of_elements<element>();
  static std::size_t of(const Container& value) {
    std::size_t bytes = value.size() * (sizeof(element) + Overhead) + sum_of_elements(value);
    if constexpr (requires { value.bucket_count(); }) {
      bytes += value.bucket_count() * sizeof(void*);
    }
    return bytes;
  }
};

inline constexpr std::size_t tree_links = 4 * sizeof(void*);
inline constexpr std::size_t list_links = 2 * sizeof(void*);
inline constexpr std::size_t hash_links = 2 * sizeof(void*);

}  // namespace heap_sizes

template <typename Char, typename Traits, typename Allocator>
struct heap<std::basic_string<Char, Traits, Allocator>> {
  using type = std::basic_string<Char, Traits, Allocator>;
  static constexpr heap_cost cost = heap_cost::constant;
  static std::size_t of(const type& value) {
    const std::size_t within = type().capacity();
    return value.capacity() <= within ? 0 : (value.capacity() + 1) * sizeof(Char);
  }
};

template <typename T, typename Allocator>
struct heap<std::vector<T, Allocator>> {
  static constexpr heap_cost cost = heap_sizes::of_elements<T>();
  static std::size_t of(const std::vector<T, Allocator>& value) {
    return value.capacity() * sizeof(T) + heap_sizes::sum_of_elements(value);
  }
};

template <typename Allocator>
struct heap<std::vector<bool, Allocator>> {
  static constexpr heap_cost cost = heap_cost::constant;
  static std::size_t of(const std::vector<bool, Allocator>& value) { return value.capacity() / 8; }
};

template <typename T, typename Allocator>
struct heap<std::deque<T, Allocator>> : heap_sizes::nodes<std::deque<T, Allocator>, 0> {};
template <typename T, typename Allocator>
struct heap<std::list<T, Allocator>>
    : heap_sizes::nodes<std::list<T, Allocator>, heap_sizes::list_links> {};
template <typename... T>
struct heap<std::set<T...>> : heap_sizes::nodes<std::set<T...>, heap_sizes::tree_links> {};
template <typename... T>
struct heap<std::map<T...>> : heap_sizes::nodes<std::map<T...>, heap_sizes::tree_links> {};
template <typename... T>
struct heap<std::unordered_set<T...>>
    : heap_sizes::nodes<std::unordered_set<T...>, heap_sizes::hash_links> {};
template <typename... T>
struct heap<std::unordered_map<T...>>
    : heap_sizes::nodes<std::unordered_map<T...>, heap_sizes::hash_links> {};

template <typename T, std::size_t Size>
struct heap<std::array<T, Size>> {
  static constexpr heap_cost cost = heap<T>::cost;
  static std::size_t of(const std::array<T, Size>& value) {
    return heap_sizes::sum_of_elements(value);
  }
};

template <typename T>
struct heap<const T> : heap<T> {};  // the key of a map's entry

template <typename First, typename Second>
struct heap<std::pair<First, Second>> {
  static constexpr heap_cost cost = heap_sizes::of_parts<First, Second>();
  static std::size_t of(const std::pair<First, Second>& value) {
    return heap<First>::of(value.first) + heap<Second>::of(value.second);
  }
};

template <typename... T>
struct heap<std::tuple<T...>> {
  static constexpr heap_cost cost = heap_sizes::of_parts<T...>();
  static std::size_t of(const std::tuple<T...>& value) {
    return std::apply([](const T&... part) { return (heap<T>::of(part) + ... + 0U); }, value);
  }
};

template <typename T>
struct heap<std::optional<T>> {
  static constexpr heap_cost cost = heap<T>::cost;
  static std::size_t of(const std::optional<T>& value) {
    return value.has_value() ? heap<T>::of(*value) : 0;
  }
};

template <typename... T>
struct heap<std::variant<T...>> {
  static constexpr heap_cost cost = heap_sizes::of_parts<T...>();
  static std::size_t of(const std::variant<T...>& value) {
    if (value.valueless_by_exception()) return 0;
    return std::visit(
        [](const auto& held) { return heap<std::remove_cvref_t<decltype(held)>>::of(held); },
        value);
  }
};

template <typename T>
  requires(!std::is_polymorphic_v<T> && !std::is_array_v<T>)
struct heap<std::unique_ptr<T>> {
  static constexpr heap_cost cost = heap_sizes::largest(heap_cost::constant, heap<T>::cost);
  static std::size_t of(const std::unique_ptr<T>& value) {
    return value == nullptr ? 0 : sizeof(T) + heap<T>::of(*value);
  }
};

}  // namespace ray::detail
