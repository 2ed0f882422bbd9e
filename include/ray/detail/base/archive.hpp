/// Values to bytes and back: the functions that everything else calls, and the ends of the journey
/// that lie in memory.
#pragma once

#include <cereal/cereal.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <typeinfo>
#include <vector>

#include <ray/detail/base/byte_archive.hpp>
#include <ray/detail/base/cereal_codecs.hpp>
#include <ray/detail/base/codec.hpp>
#include <ray/detail/base/standard_codecs.hpp>
#include <ray/detail/base/value_operations.hpp>

namespace ray::detail {

/// Counts the bytes that values would take, without copying large ones.
class counting_archive {
 public:
  template <typename... Value>
  counting_archive& operator()(const Value&... values) {
    archive_(values...);
    return *this;
  }

  [[nodiscard]] std::uint64_t bytes() const noexcept { return archive_.position(); }

 private:
  class : public byte_sink {
   public:
    void write(std::span<const std::byte>) override {}
  } nowhere_;
  output_archive archive_{nowhere_};
};

/// Appends to a vector.
class vector_sink final : public byte_sink {
 public:
  explicit vector_sink(std::vector<std::byte>& bytes) : bytes_(bytes) {}
  void write(std::span<const std::byte> bytes) override;

 private:
  std::vector<std::byte>& bytes_;
};

/// Reads from memory that somebody else keeps.
class memory_source final : public byte_source {
 public:
  explicit memory_source(std::span<const std::byte> bytes) : bytes_(bytes) {}
  void read(std::span<std::byte> bytes) override;
  [[nodiscard]] std::size_t remaining() const override { return bytes_.size(); }

 private:
  std::span<const std::byte> bytes_;
};

/// Writes `value` to `sink`. What a serializer throws passes through, but for cereal's own
/// exceptions, which become `serialization_error`.
template <typename T>
void save_value(const T& value, byte_sink& sink) {
  if constexpr (bitwise<T>) {
    sink.write(std::as_bytes(std::span<const T, 1>(&value, 1)));
  } else {
    try {
      output_archive archive(sink);
      archive.write(value);
      archive.flush();
    } catch (const cereal::Exception& error) {
      throw_from_cereal(error, typeid(T), true);
    }
  }
}

/// Makes a T in `storage`, which is large and aligned enough, from what `source` gives. It may give
/// more: whoever knows where the value ends checks that.
template <typename T>
void load_value(void* storage, byte_source& source) {
  if constexpr (bitwise<T> && !std::same_as<T, bool>) {
    source.read({static_cast<std::byte*>(storage), sizeof(T)});
    return;
  }
  try {
    input_archive archive(source);
    construct_from(storage, archive, std::type_identity<T>{});
  } catch (const cereal::Exception& error) {
    throw_from_cereal(error, typeid(T), false);
  }
}

template <typename T>
[[nodiscard]] std::vector<std::byte> to_bytes(const T& value) {
  std::vector<std::byte> bytes;
  vector_sink sink(bytes);
  save_value(value, sink);
  return bytes;
}

/// The value that `to_bytes` made them from; throws `serialization_error` when there are too few
/// or too many.
template <typename T>
[[nodiscard]] T from_bytes(std::span<const std::byte> bytes) {
  try {
    input_archive archive(bytes);
    T value = made_from(archive, std::type_identity<T>{});
    if (archive.remaining() != 0) throw_left_over(archive.remaining(), typeid(T));
    return value;
  } catch (const cereal::Exception& error) {
    throw_from_cereal(error, typeid(T), false);
  }
}

}  // namespace ray::detail

// Lets pointers to polymorphic classes that are registered with cereal travel.
CEREAL_REGISTER_ARCHIVE(ray::detail::archives::output_archive)
CEREAL_REGISTER_ARCHIVE(ray::detail::archives::input_archive)
