#include "runtime/signal.hpp"

#include <ray/detail/runtime/task.hpp>

namespace ray::detail {
namespace {

class signal final : public object {
 public:
  signal() : object(table, nullptr, claimed | one_handle | one_reference) {}

 private:
  static constexpr block_operations table{
      .value = nullptr,
      .destroy_value = nullptr,
      .destroy_block = [](object* base) noexcept {
        auto* self = static_cast<signal*>(base);
        self->~signal();
        free_block(self, sizeof(signal));
      }};
};

}  // namespace

object_handle make_signal() { return object_handle(make_block<signal>()); }

}  // namespace ray::detail
