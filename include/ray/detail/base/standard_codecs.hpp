/// How the standard types become bytes and are made from them, each by its parts.
#pragma once

#include <algorithm>
#include <array>
#include <iterator>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>

#include <ray/detail/base/byte_archive.hpp>
#include <ray/detail/base/codec.hpp>

namespace ray::detail {

template <typename Char, typename Traits, typename Allocator>
struct codec<std::basic_string<Char, Traits, Allocator>> : encoding<8> {
  using type = std::basic_string<Char, Traits, Allocator>;
  static void save(output_archive& archive, const type& value) { save_contiguous(archive, value); }
  static void load(input_archive& archive, type& value) { load_contiguous(archive, value); }
};

// Sequences.

template <typename Container>
void save_elements(output_archive& archive, const Container& container, std::size_t size) {
  archive.write(static_cast<std::uint64_t>(size));
  for (const auto& element : container) write_element(archive, element);
}

/// Reserves memory for what the bytes that are left could be, never for a length alone.
template <typename Container>
void load_elements(input_archive& archive, Container& container) {
  using element = typename Container::value_type;
  const std::size_t count = read_length_of<element>(archive, typeid(Container));
  container.clear();
  if constexpr (requires { container.reserve(count); }) {
    container.reserve(std::min(count, archive.remaining() / sizeof(element) + 1));
  }
  for (std::size_t i = 0; i < count; ++i) {
    if constexpr (loads_in_place<element>) {
      container.emplace_back();
      read_element(archive, container.back());
    } else {
      container.push_back(made_element<element>(archive));
    }
  }
}

template <typename T, typename Allocator>
struct codec<std::vector<T, Allocator>> : encoding<8> {
  using type = std::vector<T, Allocator>;
  static void save(output_archive& archive, const type& value) {
    if constexpr (bitwise<T>) {
      save_contiguous(archive, value);
    } else {
      save_elements(archive, value, value.size());
    }
  }
  static void load(input_archive& archive, type& value) {
    if constexpr (bitwise<T> && loads_in_place<T>) {
      load_contiguous(archive, value);
    } else {
      load_elements(archive, value);
    }
  }
};

/// Eight to a byte.
template <typename Allocator>
struct codec<std::vector<bool, Allocator>> : encoding<8> {
  using type = std::vector<bool, Allocator>;

  static void save(output_archive& archive, const type& value) {
    archive.write(static_cast<std::uint64_t>(value.size()));
    for (std::size_t begin = 0; begin < value.size(); begin += 8) {
      unsigned byte = 0;
      const std::size_t bits = std::min<std::size_t>(8, value.size() - begin);
      for (std::size_t bit = 0; bit < bits; ++bit) byte |= unsigned{value[begin + bit]} << bit;
      archive.write(static_cast<unsigned char>(byte));
    }
  }

  static void load(input_archive& archive, type& value) {
    const auto count = archive.read_raw<std::uint64_t>();
    const std::size_t left = archive.remaining();
    if (count / 8 + (count % 8 != 0) > left) throw_bad_length(count, 1, left, typeid(type));
    value.clear();
    value.reserve(static_cast<std::size_t>(count));
    for (std::uint64_t begin = 0; begin < count; begin += 8) {
      const unsigned byte = archive.read_raw<unsigned char>();
      const auto bits = static_cast<unsigned>(std::min<std::uint64_t>(8, count - begin));
      for (unsigned bit = 0; bit < bits; ++bit) value.push_back(((byte >> bit) & 1U) != 0);
    }
  }
};

template <typename Container>
struct sequence_codec : encoding<8> {
  static void save(output_archive& archive, const Container& value) {
    save_elements(archive, value, value.size());
  }
  static void load(input_archive& archive, Container& value) { load_elements(archive, value); }
};

template <typename T, typename Allocator>
struct codec<std::deque<T, Allocator>> : sequence_codec<std::deque<T, Allocator>> {};
template <typename T, typename Allocator>
struct codec<std::list<T, Allocator>> : sequence_codec<std::list<T, Allocator>> {};

template <typename T, typename Allocator>
struct codec<std::forward_list<T, Allocator>> : encoding<8> {
  using type = std::forward_list<T, Allocator>;
  static void save(output_archive& archive, const type& value) {
    save_elements(archive, value,
                  static_cast<std::size_t>(std::distance(value.begin(), value.end())));
  }
  static void load(input_archive& archive, type& value) {
    const std::size_t count = read_length_of<T>(archive, typeid(type));
    value.clear();
    auto last = value.before_begin();
    for (std::size_t i = 0; i < count; ++i) {
      if constexpr (loads_in_place<T>) {
        last = value.emplace_after(last);
        read_element(archive, *last);
      } else {
        last = value.insert_after(last, made_element<T>(archive));
      }
    }
  }
};

template <typename T>
struct codec<std::valarray<T>> : encoding<8> {
  static void save(output_archive& archive, const std::valarray<T>& value) {
    archive.write(static_cast<std::uint64_t>(value.size()));
    if (value.size() == 0) return;
    if constexpr (bitwise<T>) {
      archive.write_bytes(std::begin(value), value.size() * sizeof(T));
    } else {
      for (const T& element : value) write_element(archive, element);
    }
  }
  static void load(input_archive& archive, std::valarray<T>& value) {
    // A valarray cannot grow as it is read, so a vector does.
    std::vector<T> elements;
    archive.read(elements);
    value = std::valarray<T>(elements.data(), elements.size());
  }
};

/// A `std::array` of bitwise elements is bitwise; these are the others.
template <typename T, std::size_t Size>
  requires(!bitwise<T>)
struct codec<std::array<T, Size>> : encoding<Size * smallest_encoding<T>> {
  using type = std::array<T, Size>;
  static void save(output_archive& archive, const type& value) {
    for (const T& element : value) archive.write(element);
  }
  static void load(input_archive& archive, type& value) {
    for (T& element : value) archive.read(element);
  }
  static type make(input_archive& archive)
    requires(!loads_in_place<T>)
  {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return type{{(static_cast<void>(I), made_from(archive, std::type_identity<T>{}))...}};
    }(std::make_index_sequence<Size>{});
  }
};

// Sets and maps. What was saved in order is put in at the end, in constant time each.

template <typename Container>
struct set_codec : encoding<8> {
  static void save(output_archive& archive, const Container& value) {
    save_elements(archive, value, value.size());
  }
  static void load(input_archive& archive, Container& value) {
    using key = typename Container::key_type;
    const std::size_t count = read_length_of<key>(archive, typeid(Container));
    value.clear();
    for (std::size_t i = 0; i < count; ++i) {
      value.emplace_hint(value.end(), made_element<key>(archive));
    }
  }
};

template <typename Container>
struct map_codec : encoding<8> {
  using key = typename Container::key_type;
  using mapped = typename Container::mapped_type;

  static void save(output_archive& archive, const Container& value) {
    archive.write(static_cast<std::uint64_t>(value.size()));
    for (const auto& [first, second] : value) {
      write_element(archive, first);
      write_element(archive, second);
    }
  }
  static void load(input_archive& archive, Container& value) {
    const std::size_t count = read_length_of<key>(archive, typeid(Container));
    value.clear();
    for (std::size_t i = 0; i < count; ++i) {
      key first = made_element<key>(archive);
      if constexpr (loads_in_place<mapped>) {
        const auto entry =
            value.emplace_hint(value.end(), std::piecewise_construct,
                               std::forward_as_tuple(std::move(first)), std::tuple<>());
        read_element(archive, entry->second);
      } else {
        value.emplace_hint(value.end(), std::move(first), made_element<mapped>(archive));
      }
    }
  }
};

template <typename... T>
struct codec<std::set<T...>> : set_codec<std::set<T...>> {};
template <typename... T>
struct codec<std::multiset<T...>> : set_codec<std::multiset<T...>> {};
template <typename... T>
struct codec<std::unordered_set<T...>> : set_codec<std::unordered_set<T...>> {};
template <typename... T>
struct codec<std::unordered_multiset<T...>> : set_codec<std::unordered_multiset<T...>> {};
template <typename... T>
struct codec<std::map<T...>> : map_codec<std::map<T...>> {};
template <typename... T>
struct codec<std::multimap<T...>> : map_codec<std::multimap<T...>> {};
template <typename... T>
struct codec<std::unordered_map<T...>> : map_codec<std::unordered_map<T...>> {};
template <typename... T>
struct codec<std::unordered_multimap<T...>> : map_codec<std::unordered_multimap<T...>> {};

// Products and sums.

template <typename Product, typename... Part>
struct product_codec : encoding<(smallest_encoding<Part> + ... + 0)> {
  static void save(output_archive& archive, const Product& value) {
    std::apply([&](const Part&... part) { (archive.write(part), ...); }, value);
  }
  static void load(input_archive& archive, Product& value) {
    std::apply([&](Part&... part) { (archive.read(part), ...); }, value);
  }
  static Product make(input_archive& archive)
    requires(!(loads_in_place<Part> && ...))
  {
    // Braces, so that the parts are read in order.
    return Product{made_from(archive, std::type_identity<Part>{})...};
  }
};

template <typename First, typename Second>
struct codec<std::pair<First, Second>> : product_codec<std::pair<First, Second>, First, Second> {};
template <typename... T>
struct codec<std::tuple<T...>> : product_codec<std::tuple<T...>, T...> {};

template <typename T>
struct codec<std::optional<T>> : encoding<1> {
  static void save(output_archive& archive, const std::optional<T>& value) {
    archive.write(value.has_value());
    if (value.has_value()) archive.write(*value);
  }
  static void load(input_archive& archive, std::optional<T>& value) {
    value.reset();
    bool engaged = false;
    archive.read(engaged);
    if (!engaged) return;
    if constexpr (loads_in_place<T>) {
      archive.read(value.emplace());
    } else {
      value.emplace(made_from(archive, std::type_identity<T>{}));
    }
  }
};

template <typename... T>
struct codec<std::variant<T...>> : encoding<4> {
  using type = std::variant<T...>;

  static void save(output_archive& archive, const type& value) {
    if (value.valueless_by_exception()) {
      throw_unsavable("it is valueless, an assignment to it has thrown", typeid(type));
    }
    archive.write(static_cast<std::uint32_t>(value.index()));
    std::visit([&](const auto& alternative) { archive.write(alternative); }, value);
  }

  static void load(input_archive& archive, type& value) {
    const auto index = archive.read_raw<std::uint32_t>();
    if (index >= sizeof...(T)) throw_bad_value("the index of a std::variant", index);
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      static_cast<void>(
          ((I == index ? (load_alternative<I>(archive, value), true) : false) || ...));
    }(std::index_sequence_for<T...>{});
  }

  static type make(input_archive& archive)
    requires(!std::is_default_constructible_v<type>)
  {
    const auto index = archive.read_raw<std::uint32_t>();
    std::optional<type> value;
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      static_cast<void>(
          ((I == index ? (make_alternative<I>(archive, value), true) : false) || ...));
    }(std::index_sequence_for<T...>{});
    if (!value.has_value()) throw_bad_value("the index of a std::variant", index);
    return std::move(*value);
  }

 private:
  template <std::size_t Index>
  static void load_alternative(input_archive& archive, type& value) {
    using alternative = std::variant_alternative_t<Index, type>;
    if constexpr (loads_in_place<alternative>) {
      archive.read(value.template emplace<Index>());
    } else {
      value.template emplace<Index>(made_from(archive, std::type_identity<alternative>{}));
    }
  }
  template <std::size_t Index>
  static void make_alternative(input_archive& archive, std::optional<type>& value) {
    using alternative = std::variant_alternative_t<Index, type>;
    value.emplace(std::in_place_index<Index>,
                  made_from(archive, std::type_identity<alternative>{}));
  }
};

template <typename T>
struct codec<std::atomic<T>> : encoding<smallest_encoding<T>> {
  static void save(output_archive& archive, const std::atomic<T>& value) {
    archive.write(value.load());
  }
  static void load(input_archive& archive, std::atomic<T>& value) {
    value.store(made_from(archive, std::type_identity<T>{}));
  }
};

// What pointers own. cereal knows what is registered under a polymorphic base class.

template <typename T>
std::unique_ptr<T> made_owned(input_archive& archive) {
  if constexpr (loads_in_place<T>) {
    auto object = std::make_unique<T>();
    archive.read(*object);
    return object;
  } else {
    struct memory {
      T* storage = std::allocator<T>().allocate(1);
      ~memory() {
        if (storage != nullptr) std::allocator<T>().deallocate(storage, 1);
      }
    } owned;
    T* object = construct_from(owned.storage, archive, std::type_identity<T>{});
    owned.storage = nullptr;
    return std::unique_ptr<T>(object);
  }
}

template <typename T>
  requires(!std::is_polymorphic_v<T> && !std::is_array_v<T>)
struct codec<std::unique_ptr<T>> : encoding<1> {
  static void save(output_archive& archive, const std::unique_ptr<T>& value) {
    archive.write(value != nullptr);
    if (value != nullptr) archive.write(*value);
  }
  static void load(input_archive& archive, std::unique_ptr<T>& value) {
    bool engaged = false;
    archive.read(engaged);
    value = engaged ? made_owned<std::remove_const_t<T>>(archive) : nullptr;
  }
};

/// An object that several pointers share is written once and shared again when it is loaded.
template <typename T>
  requires(!std::is_polymorphic_v<T> && !std::is_array_v<T>)
struct codec<std::shared_ptr<const T>> : encoding<5> {
  static void save(output_archive& archive, const std::shared_ptr<const T>& value) {
    const auto shared = value == nullptr ? output_archive::shared_number{0, false}
                                         : archive.number_of(value, typeid(T));
    archive.write(shared.number);
    archive.write(shared.first);
    if (shared.first) archive.write(*value);
  }
  static void load(input_archive& archive, std::shared_ptr<const T>& value) {
    const auto number = archive.read_raw<std::uint32_t>();
    bool first = false;
    archive.read(first);
    if (number == 0) {
      value = nullptr;
    } else if (first) {
      // The unique_ptr's type is not const, so that enable_shared_from_this works.
      value = std::shared_ptr<T>(made_owned<T>(archive));
      archive.add_shared(number, value, typeid(T));
    } else {
      value = std::static_pointer_cast<const T>(archive.find_shared(number, typeid(T)));
    }
  }
};

}  // namespace ray::detail
