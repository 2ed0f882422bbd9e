/// What the runtime can do with a stored value without knowing its type: a table of functions,
/// made by the template that created the object (docs/architecture.md, "Typed until it must
/// travel").
#pragma once

#include <cstddef>
#include <span>
#include <typeinfo>

namespace ray::detail {

/// Where serialized bytes go. `write` may throw (a full disk); the bytes are taken before it
/// returns.
class byte_sink {
 public:
  virtual void write(std::span<const std::byte> bytes) = 0;

 protected:
  ~byte_sink() = default;
};

/// Where serialized bytes come from.
class byte_source {
 public:
  /// Fills `bytes` wholly, or throws `serialization_error` when fewer are left.
  virtual void read(std::span<std::byte> bytes) = 0;
  /// An upper bound of what can still be read; lengths are checked against it before allocating.
  [[nodiscard]] virtual std::size_t remaining() const = 0;

 protected:
  ~byte_source() = default;
};

/// The functions of one value type. All pointers but `heap_size` are set.
struct value_operations {
  const std::type_info* type;
  std::size_t size;       // sizeof(T)
  std::size_t alignment;  // alignof(T)
  /// Bytes that the value holds on the heap, in O(1) or nearly; null when only counting while
  /// serializing would tell. A type that holds nothing on the heap returns 0.
  std::size_t (*heap_size)(const void* value);
  void (*save)(const void* value, byte_sink& sink);
  /// Constructs a value in `storage` (size and alignment as above); throws `serialization_error`.
  void (*load)(void* storage, byte_source& source);
  void (*destroy)(void* value) noexcept;
};

}  // namespace ray::detail
