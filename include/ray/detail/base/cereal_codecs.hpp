/// What passes between cereal and our archives: the wrappers that classes' own functions hand to an
/// archive, and what cereal asks an archive for when it takes a value apart itself.
#pragma once

#include <cereal/cereal.hpp>
#include <cereal/types/base_class.hpp>

#include <cstdint>
#include <type_traits>

#include <ray/detail/base/byte_archive.hpp>
#include <ray/detail/base/codec.hpp>

namespace ray::detail {

template <typename T>
struct codec<cereal::NameValuePair<T>> : encoding<0> {
  static void save(output_archive& archive, const cereal::NameValuePair<T>& pair) {
    archive.write(pair.value);
  }
  static void load(input_archive& archive, cereal::NameValuePair<T>& pair) {
    archive.read(pair.value);
  }
};

template <typename T>
struct codec<cereal::SizeTag<T>> : encoding<8> {
  static void save(output_archive& archive, const cereal::SizeTag<T>& tag) {
    archive.write(static_cast<std::uint64_t>(tag.size));
  }
  /// The container is a stranger, whose elements may take no bytes at all: a length within reason
  /// is let through, and its elements will fail to load.
  static void load(input_archive& archive, cereal::SizeTag<T>& tag) {
    constexpr std::uint64_t reasonable = std::uint64_t{1} << 16;
    const auto count = archive.read_raw<std::uint64_t>();
    const std::size_t left = archive.remaining();
    if (count > left && count > reasonable) throw_bad_length(count, 1, left, typeid(tag));
    tag.size = static_cast<std::remove_cvref_t<decltype(tag.size)>>(count);
  }
};

template <typename T>
struct codec<cereal::BinaryData<T>> : encoding<0> {
  static void save(output_archive& archive, const cereal::BinaryData<T>& data) {
    if (data.size != 0) archive.write_bytes(data.data, static_cast<std::size_t>(data.size));
  }
  static void load(input_archive& archive, cereal::BinaryData<T>& data) {
    if (data.size != 0) archive.read_bytes(data.data, static_cast<std::size_t>(data.size));
  }
};

/// The bases and wrapped values that cereal would hand to classes' functions alone.
template <typename Base>
struct codec<cereal::base_class<Base>> : encoding<0> {
  static void save(output_archive& archive, const cereal::base_class<Base>& base) {
    archive.write(*base.base_ptr);
  }
  static void load(input_archive& archive, cereal::base_class<Base>& base) {
    archive.read(*base.base_ptr);
  }
};

namespace archives {

// What cereal itself asks an archive for, when it takes a value apart without our help.

template <typename T>
  requires(std::is_arithmetic_v<T>)
void save(output_archive& archive, const T& value) {
  archive.write(value);
}
template <typename T>
  requires(std::is_arithmetic_v<T>)
void load(input_archive& archive, T& value) {
  archive.read(value);
}

template <typename T>
void save(output_archive& archive, const cereal::BinaryData<T>& data) {
  archive.write(data);
}
template <typename T>
void load(input_archive& archive, cereal::BinaryData<T>& data) {
  archive.read(data);
}

template <typename T>
void save(output_archive& archive, const cereal::SizeTag<T>& tag) {
  archive.write(tag);
}
template <typename T>
void load(input_archive& archive, cereal::SizeTag<T>& tag) {
  archive.read(tag);
}

template <typename T>
void save(output_archive& archive, const cereal::NameValuePair<T>& pair) {
  archive.write(pair);
}
template <typename T>
void load(input_archive& archive, cereal::NameValuePair<T>& pair) {
  archive.read(pair);
}

}  // namespace archives

}  // namespace ray::detail
