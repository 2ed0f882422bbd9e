/// Makes the table of a value type's operations, by which the runtime stores, spills, sends and
/// destroys values without knowing their types.
#pragma once

#include <memory>
#include <typeinfo>

#include <ray/detail/base/archive.hpp>
#include <ray/detail/base/heap_size.hpp>
#include <ray/detail/base/value_operations.hpp>

namespace ray::detail {

template <typename T>
inline constexpr value_operations operations_table{
    .type = &typeid(T),
    .size = sizeof(T),
    .alignment = alignof(T),
    .heap_size =
        heap<T>::cost == heap_cost::unknown
            ? nullptr
            : +[](const void* value) { return heap<T>::of(*static_cast<const T*>(value)); },
    .save = [](const void* value,
               byte_sink& sink) { save_value(*static_cast<const T*>(value), sink); },
    .load = [](void* storage, byte_source& source) { load_value<T>(storage, source); },
    .destroy = [](void* value) noexcept { std::destroy_at(static_cast<T*>(value)); },
};

/// The one table of T in this program.
template <typename T>
[[nodiscard]] constexpr const value_operations& value_operations_of() noexcept {
  require_serializable<T>();
  return operations_table<T>;
}

}  // namespace ray::detail
