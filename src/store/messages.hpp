/// What the errors and log lines of the store say: what happened, to which object, why, and what to
/// do about it. One function a kind, so that all of them read alike.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <ray/detail/base/value_operations.hpp>
#include <ray/id.hpp>

namespace ray::detail::store {

/// "1.5 GiB".
[[nodiscard]] std::string describe_bytes(std::size_t bytes);

/// `out_of_memory_error`: larger than the whole budget.
[[nodiscard]] std::string too_large(object_id id, const value_operations& operations,
                                    std::size_t bytes, std::size_t limit);
/// `out_of_memory_error`: the budget is used up and `why` spilling fails.
[[nodiscard]] std::string no_room(object_id id, const value_operations& operations,
                                  std::size_t limit, std::string_view why);
/// `out_of_memory_error`: the allocator failed while a spilled value was read back.
[[nodiscard]] std::string no_memory(object_id id, const value_operations& operations,
                                    std::size_t bytes);
/// `object_lost_error`: its record cannot be read, `why`.
[[nodiscard]] std::string unreadable(object_id id, const value_operations& operations,
                                     std::string_view why);
/// `object_lost_error`: the record is whole, but no value could be made of it.
[[nodiscard]] std::string not_loadable(object_id id, const value_operations& operations,
                                       std::string_view why);
/// Logged once an object: its serializer threw, so it cannot leave memory.
[[nodiscard]] std::string not_spillable(object_id id, const value_operations& operations,
                                        std::string_view why);
/// Logged when spilling begins to fail.
[[nodiscard]] std::string cannot_spill(std::size_t limit, std::string_view why);

}  // namespace ray::detail::store
