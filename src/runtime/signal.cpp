#include "runtime/signal.hpp"

#include <ray/detail/runtime/task.hpp>

namespace ray::detail {
namespace {

class signal final : public object {
 public:
  signal();
};

void destroy_signal(object* base) noexcept {
  auto* self = static_cast<signal*>(base);
  self->~signal();
  free_block(self, sizeof(signal));
}

constexpr block_operations signal_operations{
    .value = nullptr, .destroy_value = nullptr, .destroy_block = destroy_signal};

signal::signal() : object(signal_operations, nullptr, claimed | one_handle | one_reference) {}

}  // namespace

object_handle make_signal() { return object_handle(make_block<signal>()); }

}  // namespace ray::detail
