/// Archives for cereal that write to a `byte_sink` and read from a `byte_source` or memory.
///
/// Small pieces are gathered in a buffer; large ones (a vector of doubles) go to the sink straight
/// from where they lie. Every value goes through `codec<T>`, which knows the standard types and
/// leaves classes with functions of their own to cereal. Lengths are checked before memory is
/// allocated for them, so damaged bytes end in a `serialization_error`. The bytes are in the order
/// of this machine: all processes of a job run the same executable.
#pragma once

#include <cereal/cereal.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <span>
#include <type_traits>
#include <typeindex>
#include <typeinfo>
#include <utility>
#include <vector>

#include <ray/detail/base/value_operations.hpp>
#include <ray/serializable.hpp>

namespace ray::detail {

namespace archives {
class output_archive;
class input_archive;
}  // namespace archives

/// How values of type T are written and read: `save(archive, value)` and `load(archive, value)`.
template <typename T>
struct codec;

/// Makes a T in raw storage, large and aligned enough. Nothing is left there when it throws.
template <typename T>
T* construct_from(void* storage, archives::input_archive& archive, std::type_identity<T>);

/// A T made from what the archive holds.
template <typename T>
T made_from(archives::input_archive& archive, std::type_identity<T>);

// All throw `serialization_error` with a message that names the type.
[[noreturn]] void throw_truncated(std::size_t wanted, std::size_t left);
[[noreturn]] void throw_bad_length(std::uint64_t count, std::size_t smallest, std::size_t left,
                                   const std::type_info& container);
[[noreturn]] void throw_left_over(std::size_t left, const std::type_info& type);
[[noreturn]] void throw_bad_value(const char* what, std::uint64_t value);
[[noreturn]] void throw_unsavable(const char* why, const std::type_info& type);
[[noreturn]] void throw_from_cereal(const cereal::Exception& error, const std::type_info& type,
                                    bool saving);

/// The archives stand in a namespace of their own, so that cereal's search for free functions by
/// argument finds only those that belong to them.
namespace archives {

/// Writes values to a sink.
///
/// What was written reaches the sink at the latest with `flush`, which the destructor does not call
/// because it may throw.
class output_archive
    : public cereal::OutputArchive<output_archive, cereal::AllowEmptyClassElision> {
  using cereal_archive = cereal::OutputArchive<output_archive, cereal::AllowEmptyClassElision>;

 public:
  explicit output_archive(byte_sink& sink) : cereal_archive(this), sink_(sink) {}

  template <typename... Value>
  output_archive& operator()(Value&&... values) {
    (write(values), ...);
    return *this;
  }
  template <typename Value>
  output_archive& operator&(Value&& value) {
    write(value);
    return *this;
  }
  template <typename Value>
  output_archive& operator<<(Value&& value) {
    write(value);
    return *this;
  }

  template <typename Value>
  void write(const Value& value) {
    codec<Value>::save(*this, value);
  }

  /// Finds the class's own functions by the rules of cereal.
  template <typename Value>
  void write_by_cereal(const Value& value) {
    cereal_archive::operator()(value);
  }

  void write_bytes(const void* data, std::size_t size) {
    if (size <= capacity - used_) {
      std::memcpy(buffer_ + used_, data, size);
      used_ += size;
    } else {
      write_past_buffer(data, size);
    }
  }

  void flush();

  /// How many bytes were written so far.
  [[nodiscard]] std::uint64_t position() const noexcept { return flushed_ + used_; }

  struct shared_number {
    std::uint32_t number;
    bool first;  // the caller writes the object itself now
  };
  /// The number that stands for an object which several pointers share. The archive keeps the
  /// object alive, so that no later one can have its address and be taken for it.
  shared_number number_of(std::shared_ptr<const void> object, const std::type_info& type);

 private:
  // One page: enough that a virtual call a page costs nothing, little enough for any stack.
  static constexpr std::size_t capacity = 4096;

  // An object and its first member have one address, so the type belongs to the key.
  using shared_key = std::pair<const void*, std::type_index>;
  struct shared_object {
    std::uint32_t number;
    std::shared_ptr<const void> object;
  };

  void write_past_buffer(const void* data, std::size_t size);

  byte_sink& sink_;
  std::uint64_t flushed_ = 0;
  std::size_t used_ = 0;
  std::map<shared_key, shared_object> shared_;
  std::byte buffer_[capacity];
};

/// Reads values from memory, or from a source as it goes: it never takes more than it needs.
class input_archive : public cereal::InputArchive<input_archive, cereal::AllowEmptyClassElision> {
  using cereal_archive = cereal::InputArchive<input_archive, cereal::AllowEmptyClassElision>;

 public:
  explicit input_archive(byte_source& source) : cereal_archive(this), source_(&source) {}
  explicit input_archive(std::span<const std::byte> bytes)
      : cereal_archive(this), next_(bytes.data()), left_(bytes.size()) {}

  template <typename... Value>
  input_archive& operator()(Value&&... values) {
    (read(values), ...);
    return *this;
  }
  template <typename Value>
  input_archive& operator&(Value&& value) {
    read(value);
    return *this;
  }
  template <typename Value>
  input_archive& operator>>(Value&& value) {
    read(value);
    return *this;
  }

  template <typename Value>
  void read(Value& value) {
    codec<std::remove_const_t<Value>>::load(*this, value);
  }

  template <typename Value>
  void read_by_cereal(Value& value) {
    cereal_archive::operator()(value);
  }

  void read_bytes(void* data, std::size_t size) {
    if (size <= left_) {
      std::memcpy(data, next_, size);
      next_ += size;
      left_ -= size;
      position_ += size;
    } else {
      read_from_source(data, size);
    }
  }

  /// A value of type T that is only bytes.
  template <typename T>
  T read_raw() {
    T value;
    read_bytes(&value, sizeof(T));
    return value;
  }

  /// The number of elements of a container whose elements take at least `smallest` bytes each.
  std::size_t read_length(std::size_t smallest, const std::type_info& container) {
    const auto count = read_raw<std::uint64_t>();
    const std::size_t left = remaining();
    if (count > left / smallest) throw_bad_length(count, smallest, left, container);
    return static_cast<std::size_t>(count);
  }

  [[nodiscard]] std::size_t remaining() const {
    return source_ == nullptr ? left_ : source_->remaining();
  }

  [[nodiscard]] std::uint64_t position() const noexcept { return position_; }

  /// How many bytes to ask for at a time while a large container grows. From memory so few that
  /// `memcpy` does not use `rep movsb`, which some processors run at a fifth of the speed when the
  /// two places lie badly to each other; from a file so many that calls cost nothing.
  [[nodiscard]] std::size_t piece() const noexcept {
    return source_ == nullptr ? std::size_t{1} << 11 : std::size_t{1} << 18;
  }

  void add_shared(std::uint32_t number, std::shared_ptr<const void> object,
                  const std::type_info& type);
  [[nodiscard]] std::shared_ptr<const void> find_shared(std::uint32_t number,
                                                        const std::type_info& type) const;

 private:
  struct shared_object {
    std::type_index type;
    std::shared_ptr<const void> object;
  };

  void read_from_source(void* data, std::size_t size);

  byte_source* source_ = nullptr;
  const std::byte* next_ = nullptr;
  std::size_t left_ = 0;  // stays 0 when there is a source
  std::uint64_t position_ = 0;
  std::map<std::uint32_t, shared_object> shared_;
};

}  // namespace archives

using archives::input_archive;
using archives::output_archive;

}  // namespace ray::detail

CEREAL_SETUP_ARCHIVE_TRAITS(ray::detail::archives::input_archive,
                            ray::detail::archives::output_archive)
