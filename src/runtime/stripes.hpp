/// A table of locks for what is rarely locked: an object's waiters, a task's parent. Which lock
/// guards an object follows from its address.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>

namespace ray::detail {

[[nodiscard]] std::mutex& stripe_of(const void* address) noexcept;

}  // namespace ray::detail
