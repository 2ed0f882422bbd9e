/// The objects' way into the store and out of it: what is worth tracking, pinning, erasing.
#include "runtime/core.hpp"
#include "runtime/object_hooks.hpp"
#include "runtime/task_extra.hpp"

#include <ray/detail/runtime/completion.hpp>
#include <ray/detail/runtime/value_access.hpp>
#include <ray/error.hpp>

namespace ray::detail {
namespace {

/// Below this a value stays where it is: spilling it would free less than the books about it take.
constexpr std::size_t smallest_tracked = 4096;

}  // namespace

void object::track() {
  const value_operations* value = operations_->value;
  if (value == nullptr) return;
  if (value->heap_size != nullptr && value->heap_size(value_) < smallest_tracked) return;
  const auto store = core::get().objects();
  if (store == nullptr) return;
  auto* books = new stored_value{store, nullptr};
  try {
    books->entry = store->insert(value_, *value, object_id{process_id_prefix(), id()});
  } catch (...) {
    delete books;
    throw;
  }
  stored_ = books;
  word_.fetch_or(object::tracked, std::memory_order_release);
}

void pin_stored(object* source) {
  stored_value& where = *source->where_stored();
  where.store->pin(*where.entry);
}

void unpin_stored(object* source) noexcept {
  stored_value& where = *source->where_stored();
  where.store->unpin(*where.entry);
}

void erase_stored(object& one) noexcept {
  stored_value* where = one.where_stored();
  where->store->erase(where->entry);
  delete where;
}

void throw_error(object* one) {
  one->mark_observed();
  std::rethrow_exception(one->error());
}

void throw_if_failed(object* one) {
  if ((one->word() & object::failed) != 0) throw_error(one);
}

}  // namespace ray::detail
