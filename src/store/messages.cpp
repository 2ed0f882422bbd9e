#include "store/messages.hpp"

#include <ray/detail/base/type_name.hpp>

#include <array>
#include <cstdio>

namespace ray::detail::store {

namespace {

std::string object_named(object_id id, const value_operations& operations) {
  return "object " + to_string(id) + " (" + type_name(*operations.type) + ')';
}

}  // namespace

std::string describe_bytes(std::size_t bytes) {
  static constexpr std::array units{"KiB", "MiB", "GiB", "TiB"};
  if (bytes < 1024) return std::to_string(bytes) + " bytes";
  double amount = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  for (; amount >= 1024 && unit + 1 < units.size(); ++unit) amount /= 1024;
  std::array<char, 32> text;
  const int size = std::snprintf(text.data(), text.size(), "%.1f %s", amount, units[unit]);
  return {text.data(), static_cast<std::size_t>(size)};
}

std::string too_large(object_id id, const value_operations& operations, std::size_t bytes,
                      std::size_t limit) {
  return object_named(id, operations) + " of " + describe_bytes(bytes) +
         " is larger than the whole object store of " + describe_bytes(limit) +
         "; raise config::object_store_memory (--ray-object-store-memory) or split the object";
}

std::string no_room(object_id id, const value_operations& operations, std::size_t limit,
                    std::string_view why) {
  return "no room for " + object_named(id, operations) + ": the object store of " +
         describe_bytes(limit) +
         " is full, and what it holds cannot be spilled: " + std::string(why);
}

std::string no_memory(object_id id, const value_operations& operations, std::size_t bytes) {
  return object_named(id, operations) + " of " + describe_bytes(bytes) +
         " cannot be read back from its spill file: the system gives no more memory; release views "
         "and futures that are no longer needed, then try again";
}

std::string unreadable(object_id id, const value_operations& operations, std::string_view why) {
  return object_named(id, operations) +
         " was spilled and cannot be read back: " + std::string(why) + "; make the object again";
}

std::string not_loadable(object_id id, const value_operations& operations, std::string_view why) {
  return object_named(id, operations) +
         " was spilled and cannot be made again from its bytes: its deserializer failed: " +
         std::string(why) + "; make sure that it reads what the serializer writes";
}

std::string not_spillable(object_id id, const value_operations& operations, std::string_view why) {
  return object_named(id, operations) +
         " cannot be spilled and stays in memory: its serializer failed: " + std::string(why);
}

std::string cannot_spill(std::size_t limit, std::string_view why) {
  return "the object store is over its " + describe_bytes(limit) +
         ", and what it holds cannot be spilled: " + std::string(why) +
         "; until that is mended, put and the results of tasks fail with out_of_memory_error";
}

}  // namespace ray::detail::store
