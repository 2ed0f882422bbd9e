#include "runtime/exported_table.hpp"

#include <ray/detail/runtime/exported.hpp>
#include <ray/error.hpp>
#include <ray/id.hpp>

#include <mutex>
#include <unordered_map>
#include <utility>

namespace ray::detail {
namespace {

struct table {
  std::mutex mutex;
  std::uint64_t next = 1;
  std::unordered_map<const void*, std::uint64_t> numbers;
  std::unordered_map<std::uint64_t, std::shared_ptr<void>> kept;
};

table& exported() {
  static auto& one = *new table;
  return one;
}

}  // namespace

exported_handle export_handle(const void* key, std::shared_ptr<void> kept) {
  if (key == nullptr) return {};
  table& all = exported();
  const std::lock_guard lock(all.mutex);
  const auto [found, fresh] = all.numbers.try_emplace(key, all.next);
  if (fresh) all.kept.emplace(all.next++, std::move(kept));
  return {process_id_prefix(), found->second};
}

std::shared_ptr<void> import_handle(const exported_handle& one) {
  if (one.number == 0) return nullptr;
  table& all = exported();
  const std::lock_guard lock(all.mutex);
  const auto found =
      one.process == process_id_prefix() ? all.kept.find(one.number) : all.kept.end();
  if (found == all.kept.end()) {
    throw serialization_error(
        "ray: a handle was read from bytes of another process or of a session that has ended; it "
        "stands for nothing here");
  }
  return found->second;
}

void clear_exported() noexcept {
  decltype(table::kept) dropped;
  {
    table& all = exported();
    const std::lock_guard lock(all.mutex);
    all.numbers.clear();
    dropped.swap(all.kept);
  }
}

}  // namespace ray::detail
