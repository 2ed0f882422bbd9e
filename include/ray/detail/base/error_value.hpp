/// Exceptions as values: what a task ended with, kept until somebody gets it, here or in another
/// process.
#pragma once

#include <cstddef>
#include <exception>
#include <span>
#include <string>
#include <vector>

namespace ray::detail {

/// What `get` rethrows for `exception`, which left the task described by `task` ("task f (id)").
///
/// The same pointer when the exception's type is exactly a standard one, one of ray's, or one named
/// in `RAY_EXCEPTION`; else a `task_error` that gives the type's name and `what()`. Does not
/// rethrow in the first case. Never null unless `exception` is.
[[nodiscard]] std::exception_ptr portable_exception(std::exception_ptr exception,
                                                    const std::string& task) noexcept;

/// The bytes of what `portable_exception` returned. An exception whose own serializer fails goes
/// as a `task_error` that says so.
[[nodiscard]] std::vector<std::byte> exception_to_bytes(const std::exception_ptr& exception);

/// Throws `serialization_error` when the bytes are damaged. A type that this process does not know
/// or cannot make again becomes a `task_error` with the name and the text.
[[nodiscard]] std::exception_ptr exception_from_bytes(std::span<const std::byte> bytes);

/// `what()`, and those of the exceptions nested in it; empty for what is no `std::exception`.
[[nodiscard]] std::string exception_text(const std::exception_ptr& exception);

/// The name of the exception's dynamic type.
[[nodiscard]] std::string exception_type_name(const std::exception_ptr& exception);

}  // namespace ray::detail
