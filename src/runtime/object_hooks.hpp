/// What the life of an object needs of the rest of the runtime.
#pragma once

#include "store/object_store.hpp"

#include <ray/detail/runtime/object.hpp>

#include <cstdint>
#include <memory>

namespace ray::detail {

/// A value that the store tracks. It keeps the store, which a view may need after the session.
struct stored_value {
  std::shared_ptr<store::object_store> store;
  store::entry* entry;
};

/// Logs an error that nobody asked for before its last handle went.
void report_unobserved(object& one) noexcept;

/// Has the store forget and destroy the object's value.
void erase_stored(object& one) noexcept;

/// The next low half of an id in this process.
[[nodiscard]] std::uint64_t next_id() noexcept;

}  // namespace ray::detail
