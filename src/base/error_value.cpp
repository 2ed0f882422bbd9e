#include <ray/detail/base/error_value.hpp>

#include <cxxabi.h>

#include <ios>
#include <map>
#include <mutex>
#include <string_view>
#include <typeindex>

#include <ray/detail/base/exception_registry.hpp>
#include <ray/detail/base/type_name.hpp>
#include <ray/error.hpp>

#include "base/standard_exceptions.hpp"

namespace ray::detail {

namespace {

/// Types are added while static objects are initialized, and looked up until the process ends.
struct registry {
  std::mutex mutex;
  std::map<std::type_index, exception_operations> by_type;  // nodes stay where they are
  std::map<std::string, const exception_operations*> by_name;

  void add(const exception_operations& operations) {
    const auto [entry, added] = by_type.try_emplace(*operations.type, operations);
    if (added) by_name.try_emplace(operations.type->name(), &entry->second);
  }
};

registry& exceptions() {
  static registry& instance = *[] {
    auto* made = new registry;
    for (const exception_operations& operations : built_in_exceptions()) made->add(operations);
    return made;
  }();
  return instance;
}

/// The dynamic type, without rethrowing; libstdc++ tells. Null for exceptions of other languages.
const std::type_info* type_of(const std::exception_ptr& exception) {
  return exception == nullptr ? nullptr : exception.__cxa_exception_type();
}

/// What libstdc++ throws for `std::ios_base::failure` is a class derived from it, without a name.
const std::type_info& nameable_type(const std::type_info& type) {
  constexpr std::string_view hidden_failure = "St13__ios_failure";
  return type.name() == hidden_failure ? typeid(std::ios_base::failure) : type;
}

const exception_operations* operations_of(const std::exception_ptr& exception) {
  const std::type_info* type = type_of(exception);
  return type == nullptr ? nullptr : find_exception(nameable_type(*type));
}

void append_text(std::string& text, const std::exception& exception) {
  if (!text.empty()) text += "; caused by: ";
  text += exception.what();
  const auto* nested = dynamic_cast<const std::nested_exception*>(&exception);
  if (nested == nullptr || nested->nested_ptr() == nullptr) return;
  try {
    nested->rethrow_nested();
  } catch (const std::exception& inner) {
    append_text(text, inner);
  } catch (...) {
    text += "; caused by: " + exception_type_name(std::current_exception());
  }
}

bool is_exception_class(const std::exception_ptr& exception) {
  try {
    std::rethrow_exception(exception);
  } catch (const std::exception&) {
    return true;
  } catch (...) {
    return false;
  }
}

std::exception_ptr task_error_of(const std::exception_ptr& exception, const std::string& task) {
  const std::string type = exception_type_name(exception);
  std::string text = task + " ended with an exception of type " + type;
  if (is_exception_class(exception)) {
    text += ": " + exception_text(exception);
    text += "\n(to get it as what it is, write RAY_EXCEPTION(" + type + ") at namespace scope)";
  } else {
    text += ", which has no what()\n(to know more, throw a class derived from std::exception)";
  }
  return std::make_exception_ptr(task_error(text));
}

}  // namespace

void add_exception(const exception_operations& operations) {
  registry& all = exceptions();
  const std::scoped_lock lock(all.mutex);
  all.add(operations);
}

const exception_operations* find_exception(const std::type_info& type) {
  registry& all = exceptions();
  const std::scoped_lock lock(all.mutex);
  const auto entry = all.by_type.find(type);
  return entry == all.by_type.end() ? nullptr : &entry->second;
}

const exception_operations* find_exception(const std::string& mangled_name) {
  registry& all = exceptions();
  const std::scoped_lock lock(all.mutex);
  const auto entry = all.by_name.find(mangled_name);
  return entry == all.by_name.end() ? nullptr : entry->second;
}

std::string exception_type_name(const std::exception_ptr& exception) {
  const std::type_info* type = type_of(exception);
  return type == nullptr ? "unknown" : type_name(nameable_type(*type));
}

std::string exception_text(const std::exception_ptr& exception) {
  std::string text;
  try {
    std::rethrow_exception(exception);
  } catch (const std::exception& caught) {
    append_text(text, caught);
  } catch (...) {
    // It has no text.
  }
  return text;
}

std::exception_ptr portable_exception(std::exception_ptr exception,
                                      const std::string& task) noexcept {
  try {
    if (exception == nullptr || operations_of(exception) != nullptr) return exception;
    return task_error_of(exception, task);
  } catch (...) {
    return std::current_exception();  // no memory for the text
  }
}

std::vector<std::byte> exception_to_bytes(const std::exception_ptr& exception) {
  const exception_operations* operations = operations_of(exception);
  if (operations == nullptr) {
    return exception_to_bytes(portable_exception(exception, "a task"));
  }
  std::vector<std::byte> details;
  vector_sink sink(details);
  try {
    operations->save(exception, sink);
  } catch (...) {
    const std::string reason = exception_text(std::current_exception());
    return exception_to_bytes(std::make_exception_ptr(
        task_error("an exception of type " + exception_type_name(exception) +
                   ", whose serializer failed (" + reason + "): " + exception_text(exception))));
  }
  std::string what;
  try {
    std::rethrow_exception(exception);
  } catch (const std::exception& caught) {
    what = caught.what();
  } catch (...) {
    // Its own functions carry all of it.
  }
  std::vector<std::byte> bytes;
  vector_sink all(bytes);
  output_archive archive(all);
  archive(std::string(operations->type->name()), exception_type_name(exception), what, details);
  archive.flush();
  return bytes;
}

std::exception_ptr exception_from_bytes(std::span<const std::byte> bytes) {
  input_archive archive(bytes);
  std::string name;
  std::string readable_name;
  std::string what;
  std::vector<std::byte> details;
  archive(name, readable_name, what, details);
  if (archive.remaining() != 0) throw_left_over(archive.remaining(), typeid(std::exception));

  const exception_operations* operations = find_exception(name);
  if (operations == nullptr) {
    return std::make_exception_ptr(
        task_error("an exception of type " + readable_name + ", which is not known here: " + what));
  }
  try {
    memory_source source(details);
    return operations->load(what, source);
  } catch (...) {
    const std::string reason = exception_text(std::current_exception());
    return std::make_exception_ptr(task_error("an exception of type " + readable_name +
                                              ", which cannot be made again here (" + reason +
                                              "): " + what));
  }
}

}  // namespace ray::detail
