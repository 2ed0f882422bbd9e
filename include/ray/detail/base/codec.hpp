/// How each kind of value becomes bytes and is made from them: `codec<T>`.
///
/// The general one writes bitwise types as they lie in memory, takes aggregates apart, and leaves
/// classes with functions of their own to cereal. Those of the standard types and of cereal's
/// wrappers follow in headers of their own; archive.hpp includes all.
#pragma once

#include <algorithm>
#include <concepts>
#include <iterator>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include <ray/detail/base/byte_archive.hpp>

namespace ray::detail {

/// The fewest bytes that a value takes; a class's own functions may write none.
template <typename T>
inline constexpr std::size_t smallest_encoding = codec<T>::smallest;

/// Whether a value is loaded into an object that was made first. Others are made by
/// `load_and_construct`, or from their bytes.
template <typename T>
inline constexpr bool loads_in_place =
    std::is_default_constructible_v<T> && !has_load_and_construct<T>;

template <typename T>
  requires(bitwise<T>)
inline constexpr bool loads_in_place<T> = std::is_default_constructible_v<T>;

/// What every value of these types is: one encoding, of this size at least.
template <std::size_t Smallest>
struct encoding {
  static constexpr std::size_t smallest = Smallest;
};

template <typename T>
struct codec : encoding<bitwise<T> ? sizeof(T) : 0> {
  static void save(output_archive& archive, const T& value) {
    if constexpr (bitwise<T>) {
      archive.write_bytes(std::addressof(value), sizeof(T));
    } else if constexpr (std::is_array_v<T>) {
      for (const auto& element : value) archive.write(element);
    } else if constexpr (memberwise<T>) {
      with_members(value, [&](const auto&... member) { (archive.write(member), ...); });
    } else if constexpr (std::is_pointer_v<T> || std::is_member_pointer_v<T>) {
      require_serializable<T>();  // which says why not
    } else {
      archive.write_by_cereal(value);
    }
  }

  static void load(input_archive& archive, T& value) {
    if constexpr (bitwise<T>) {
      archive.read_bytes(std::addressof(value), sizeof(T));
    } else if constexpr (std::is_array_v<T>) {
      for (auto& element : value) archive.read(element);
    } else if constexpr (memberwise<T>) {
      with_members(value, [&](auto&... member) { (archive.read(member), ...); });
    } else if constexpr (std::is_pointer_v<T> || std::is_member_pointer_v<T>) {
      require_serializable<T>();  // which says why not
    } else {
      archive.read_by_cereal(value);
    }
  }
};

template <>
struct codec<bool> : encoding<1> {
  static void save(output_archive& archive, bool value) { archive.write_bytes(&value, 1); }
  static void load(input_archive& archive, bool& value) {
    // A bool that is neither 0 nor 1 is undefined behaviour as soon as somebody looks at it.
    const auto byte = archive.read_raw<unsigned char>();
    if (byte > 1) throw_bad_value("a bool", byte);
    value = byte == 1;
  }
};

template <typename T>
T* construct_from(void* storage, input_archive& archive, std::type_identity<T>) {
  if constexpr (bitwise<T> && !std::same_as<T, bool>) {
    // The life of a trivially copyable object may begin with its bytes.
    archive.read_bytes(storage, sizeof(T));
    return std::launder(static_cast<T*>(storage));
  } else if constexpr (has_load_and_construct<T>) {
    auto* object = static_cast<T*>(storage);
    cereal::memory_detail::LoadAndConstructLoadWrapper<input_archive, T> loader(object);
    try {
      loader.serialize(archive);
    } catch (...) {
      bool constructed = true;
      try {
        loader.construct.ptr();
      } catch (const cereal::Exception&) {
        constructed = false;
      }
      if (constructed) object->~T();
      throw;
    }
    return loader.construct.ptr();  // throws when the class's function constructed nothing
  } else if constexpr (loads_in_place<T>) {
    struct guard {
      T* object;
      ~guard() {
        if (object != nullptr) object->~T();
      }
    } made{::new (storage) T()};
    archive.read(*made.object);
    return std::exchange(made.object, nullptr);
  } else {
    return ::new (storage) T(codec<T>::make(archive));
  }
}

template <typename T>
T made_from(input_archive& archive, std::type_identity<T> type) {
  if constexpr (requires { codec<T>::make(archive); }) {
    return codec<T>::make(archive);
  } else if constexpr (loads_in_place<T>) {
    T value{};
    archive.read(value);
    return value;
  } else {
    alignas(T) std::byte storage[sizeof(T)];
    struct guard {
      T* object;
      ~guard() { object->~T(); }
    } made{construct_from(storage, archive, type)};
    return std::move(*made.object);
  }
}

/// The elements of a container take one byte at least, so that a length larger than what is left
/// can be refused before memory is allocated for it: where an element writes nothing, one byte
/// stands for it.
template <typename T>
void write_element(output_archive& archive, const T& element) {
  const std::uint64_t before = archive.position();
  archive.write(element);
  if constexpr (smallest_encoding<T> == 0) {
    if (archive.position() == before) archive.write(std::byte{});
  }
}

template <typename T, typename Read>
decltype(auto) read_with_filler(input_archive& archive, Read&& read) {
  struct filler {
    input_archive& archive;
    std::uint64_t before = archive.position();
    void skip() {
      if constexpr (smallest_encoding<T> == 0) {
        if (archive.position() == before) static_cast<void>(archive.read_raw<std::byte>());
      }
    }
  } after{archive};
  if constexpr (std::is_void_v<decltype(read())>) {
    read();
    after.skip();
  } else {
    auto value = read();
    after.skip();
    return value;
  }
}

template <typename T>
void read_element(input_archive& archive, T& element) {
  read_with_filler<T>(archive, [&] { archive.read(element); });
}

template <typename T>
T made_element(input_archive& archive) {
  return read_with_filler<T>(archive, [&] { return made_from(archive, std::type_identity<T>{}); });
}

template <typename T>
std::size_t read_length_of(input_archive& archive, const std::type_info& container) {
  return archive.read_length(std::max<std::size_t>(smallest_encoding<T>, 1), container);
}

// Contiguous bytes: strings, and vectors of bitwise elements.

template <typename Container>
void save_contiguous(output_archive& archive, const Container& container) {
  archive.write(static_cast<std::uint64_t>(container.size()));
  if (container.size() == 0) return;
  archive.write_bytes(std::data(container), container.size() * sizeof(*std::data(container)));
}

/// A large container grows by pieces, so that the zeroes which `resize` writes are overwritten
/// before they leave the processor's caches.
template <typename Container>
void load_contiguous(input_archive& archive, Container& container) {
  using element = typename Container::value_type;
  const std::size_t count = archive.read_length(sizeof(element), typeid(Container));
  const std::size_t piece = std::max<std::size_t>(1, archive.piece() / sizeof(element));
  container.clear();
  if (count > piece) container.reserve(count);
  while (container.size() < count) {
    const std::size_t begin = container.size();
    const std::size_t size = std::min(piece, count - begin);
    container.resize(begin + size);
    archive.read_bytes(container.data() + begin, size * sizeof(element));
  }
}

}  // namespace ray::detail
