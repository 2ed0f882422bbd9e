/// Handles (of objects, actors, queues ...) as bytes. In one process the bytes are a number in a
/// table that keeps what the handle stands for until the session ends, since the bytes may be read
/// again at any time.
#pragma once

#include <cstdint>
#include <memory>

namespace ray::detail {

/// A handle on its way; empty handles travel too.
struct exported_handle {
  std::uint64_t process = 0;
  std::uint64_t number = 0;

  template <typename Archive>
  void serialize(Archive& archive) {
    archive(process, number);
  }
};

/// Enters what `kept` stands for, once for each `key`.
[[nodiscard]] exported_handle export_handle(const void* key, std::shared_ptr<void> kept);

/// What was exported, or null for the empty handle. Throws serialization_error when it is of
/// another process or session.
[[nodiscard]] std::shared_ptr<void> import_handle(const exported_handle& one);

}  // namespace ray::detail
