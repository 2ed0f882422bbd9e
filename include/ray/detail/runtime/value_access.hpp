/// Reading the value of an object: waiting until it is there, keeping it in memory while it is
/// read.
#pragma once

#include <ray/detail/base/archive.hpp>
#include <ray/detail/base/copyable.hpp>
#include <ray/detail/runtime/object.hpp>
#include <ray/duration.hpp>

#include <cstdint>
#include <type_traits>
#include <utility>

namespace ray::detail {

/// Blocks until the object is ready; inside a task the CPU slot is lent meanwhile. Without a limit
/// the calling thread may run what it waits for. False when `timeout` passed first. Throws
/// cancelled_error or timeout_error when the calling task is cancelled or late meanwhile, and
/// usage_error without a session.
bool wait_until_ready(object* one, duration timeout = forever);

/// Rethrows the error of a failed object.
[[noreturn]] void throw_error(object* one);

/// Makes a spilled value resident and keeps it so until `unpin`. Throws object_lost_error.
void pin_stored(object* source);
void unpin_stored(object* source) noexcept;

/// Whether the caller's handle is the only one, so that the value may be moved out.
[[nodiscard]] inline bool is_only_handle(object* one) noexcept {
  if (object::handles(one->word()) != 1) return false;
  object* source = one->source();
  return source == one || object::handles(source->word()) == 1;
}

/// The value of a ready object, resident while this lives. Rethrows the object's error.
template <typename Value>
class pinned_value {
 public:
  explicit pinned_value(object* one) {
    const std::uint64_t word = one->word();
    if ((word & object::failed) != 0) throw_error(one);
    source_ = one->source();
    if ((source_->word() & object::tracked) != 0) {
      pin_stored(source_);
      pinned_ = true;
    }
  }
  pinned_value(const pinned_value&) = delete;
  pinned_value& operator=(const pinned_value&) = delete;
  ~pinned_value() {
    if (pinned_) unpin_stored(source_);
  }

  [[nodiscard]] Value& operator*() const noexcept { return *static_cast<Value*>(source_->value()); }

 private:
  object* source_ = nullptr;
  bool pinned_ = false;
};

/// A copy of a value, by its serialization when its type has no copy.
template <typename Value>
[[nodiscard]] Value copy_of(const Value& value) {
  if constexpr (copyable<Value>) {
    return Value(value);
  } else {
    return from_bytes<Value>(to_bytes(value));
  }
}

/// A copy of a ready object's value.
template <typename Value>
[[nodiscard]] Value copy_value(object* one) {
  if constexpr (std::is_trivially_copyable_v<Value>) {
    // Usually it stands where the task left it, and cannot be spilled.
    constexpr std::uint64_t special = object::failed | object::forwarded | object::tracked;
    if ((one->word() & special) == 0) [[likely]]
      return *static_cast<const Value*>(one->value());
  }
  const pinned_value<Value> value(one);
  return Value(static_cast<const Value&>(*value));
}

/// The value of a ready object, moved out when `handle` is the only one, else copied.
template <typename Value>
[[nodiscard]] Value take_value(object_handle handle) {
  const bool alone = is_only_handle(handle.get());
  const pinned_value<Value> value(handle.get());
  if (alone) return Value(std::move(*value));
  return copy_of(static_cast<const Value&>(*value));
}

}  // namespace ray::detail
