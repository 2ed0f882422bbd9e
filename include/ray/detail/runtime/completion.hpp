/// Waiting for several objects, and the other calls of the runtime that know no types.
#pragma once

#include <ray/detail/runtime/object.hpp>
#include <ray/duration.hpp>

#include <cstddef>
#include <memory>
#include <vector>

namespace ray::detail {

/// Blocks until all have ended. Throws timeout_error.
void wait_for_all(const std::vector<object*>& objects, duration timeout);

/// Blocks until `count` of them have ended or the timeout has passed. Throws usage_error when there
/// are fewer.
void wait_for_some(const std::vector<object*>& objects, std::size_t count, duration timeout);

void cancel_object(object* one, bool force, bool recursive);

[[noreturn]] void throw_get_timeout(object* one, duration timeout);

/// Rethrows the object's error if it has one.
void throw_if_failed(object* one);

/// The indexes of objects in the order in which they end. The objects must outlive it.
class completion_queue {
 public:
  explicit completion_queue(const std::vector<object*>& objects);
  completion_queue(completion_queue&&) noexcept;
  completion_queue& operator=(completion_queue&&) noexcept;
  ~completion_queue();

  /// Blocks for the next one; false when all have been given.
  bool next(std::size_t& index);

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace ray::detail
