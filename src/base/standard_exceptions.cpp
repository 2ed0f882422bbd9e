#include "base/standard_exceptions.hpp"

#include <any>
#include <filesystem>
#include <functional>
#include <future>
#include <ios>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <regex>
#include <stdexcept>
#include <system_error>
#include <typeinfo>
#include <variant>

#include <ray/error.hpp>

namespace ray::detail {

namespace {

/// Types with nothing in them.
template <typename Exception>
constexpr exception_operations empty_exception() {
  return {.type = &typeid(Exception),
          .save = [](const std::exception_ptr&, byte_sink&) {},
          .load = [](const std::string&,
                     byte_source&) { return std::make_exception_ptr(Exception()); }};
}

/// Types with a text in them.
template <typename Exception>
constexpr exception_operations text_exception() {
  return {.type = &typeid(Exception),
          .save = [](const std::exception_ptr&, byte_sink&) {},
          .load = [](const std::string& what,
                     byte_source&) { return std::make_exception_ptr(Exception(what)); }};
}

/// Stands for an error category that this process does not have.
class foreign_category final : public std::error_category {
 public:
  foreign_category(std::string name, std::string message)
      : name_(std::move(name)), message_(std::move(message)) {}
  [[nodiscard]] const char* name() const noexcept override { return name_.c_str(); }
  [[nodiscard]] std::string message(int) const override { return message_; }

 private:
  std::string name_;
  std::string message_;
};

/// Categories are compared by address and live for ever, so each foreign one is made once.
const std::error_category& category_named(const std::string& name, const std::string& message) {
  for (const std::error_category* known : {&std::generic_category(), &std::system_category(),
                                           &std::iostream_category(), &std::future_category()}) {
    if (name == known->name()) return *known;
  }
  static std::mutex mutex;
  static auto& foreign =
      *new std::map<std::pair<std::string, std::string>, std::unique_ptr<foreign_category>>;
  const std::scoped_lock lock(mutex);
  auto& category = foreign[{name, message}];
  if (category == nullptr) category = std::make_unique<foreign_category>(name, message);
  return *category;
}

/// The text that a `system_error` was made with, without what its constructor put behind it.
std::string own_text(const std::system_error& error) {
  // Asked of the base class: derived ones add to the text again.
  std::string text = error.std::runtime_error::what();
  const std::string message = error.code().message();
  if (text == message) return {};
  const std::string suffix = ": " + message;
  if (text.ends_with(suffix)) text.resize(text.size() - suffix.size());
  return text;
}

void write_code(output_archive& archive, const std::error_code& code) {
  archive(std::string(code.category().name()), code.value(), code.message());
}

std::error_code read_code(input_archive& archive) {
  std::string name;
  std::string message;
  int value = 0;
  archive(name, value, message);
  return {value, category_named(name, message)};
}

/// `write` takes an archive and the exception, `read` makes the exception from an archive.
template <typename Exception, auto write, auto read>
constexpr exception_operations special_exception() {
  return {.type = &typeid(Exception),
          .save =
              [](const std::exception_ptr& exception, byte_sink& sink) {
                try {
                  std::rethrow_exception(exception);
                } catch (const Exception& caught) {
                  output_archive archive(sink);
                  write(archive, caught);
                  archive.flush();
                }
              },
          .load =
              [](const std::string&, byte_source& source) {
                input_archive archive(source);
                return std::make_exception_ptr(read(archive));
              }};
}

template <typename Exception>
void write_coded(output_archive& archive, const Exception& error) {
  archive(own_text(error));
  write_code(archive, error.code());
}

template <typename Exception>
Exception read_coded(input_archive& archive) {
  std::string text;
  archive(text);
  const std::error_code code = read_code(archive);
  if constexpr (std::is_constructible_v<Exception, std::error_code, std::string>) {
    return text.empty() ? Exception(code) : Exception(code, text);
  } else {
    return Exception(text, code);
  }
}

void write_filesystem(output_archive& archive, const std::filesystem::filesystem_error& error) {
  write_coded(archive, error);
  archive(error.path1().native(), error.path2().native());
}

std::filesystem::filesystem_error read_filesystem(input_archive& archive) {
  std::string text;
  archive(text);
  const std::error_code code = read_code(archive);
  std::string first;
  std::string second;
  archive(first, second);
  // The text names as many paths as the constructor was given.
  using std::filesystem::filesystem_error;
  if (first.empty() && second.empty()) return filesystem_error(text, code);
  if (second.empty()) return filesystem_error(text, first, code);
  return filesystem_error(text, first, second, code);
}

void write_regex(output_archive& archive, const std::regex_error& error) {
  archive(static_cast<int>(error.code()));
}

std::regex_error read_regex(input_archive& archive) {
  int code = 0;
  archive(code);
  return std::regex_error(static_cast<std::regex_constants::error_type>(code));
}

void write_future(output_archive& archive, const std::future_error& error) {
  archive(error.code().value());
}

std::future_error read_future(input_archive& archive) {
  int code = 0;
  archive(code);
  return std::future_error(static_cast<std::future_errc>(code));
}

}  // namespace

std::span<const exception_operations> built_in_exceptions() {
  static const exception_operations table[] = {
      empty_exception<std::exception>(),
      empty_exception<std::bad_alloc>(),
      empty_exception<std::bad_array_new_length>(),
      empty_exception<std::bad_cast>(),
      empty_exception<std::bad_any_cast>(),
      empty_exception<std::bad_typeid>(),
      empty_exception<std::bad_exception>(),
      empty_exception<std::bad_function_call>(),
      empty_exception<std::bad_optional_access>(),
      empty_exception<std::bad_variant_access>(),
      empty_exception<std::bad_weak_ptr>(),
      text_exception<std::logic_error>(),
      text_exception<std::domain_error>(),
      text_exception<std::invalid_argument>(),
      text_exception<std::length_error>(),
      text_exception<std::out_of_range>(),
      text_exception<std::runtime_error>(),
      text_exception<std::range_error>(),
      text_exception<std::overflow_error>(),
      text_exception<std::underflow_error>(),
      special_exception<std::system_error, write_coded<std::system_error>,
                        read_coded<std::system_error>>(),
      special_exception<std::ios_base::failure, write_coded<std::ios_base::failure>,
                        read_coded<std::ios_base::failure>>(),
      special_exception<std::filesystem::filesystem_error, write_filesystem, read_filesystem>(),
      special_exception<std::regex_error, write_regex, read_regex>(),
      special_exception<std::future_error, write_future, read_future>(),
      text_exception<error>(),
      text_exception<usage_error>(),
      text_exception<task_error>(),
      text_exception<cancelled_error>(),
      text_exception<timeout_error>(),
      text_exception<actor_died_error>(),
      text_exception<worker_died_error>(),
      text_exception<node_died_error>(),
      text_exception<object_lost_error>(),
      text_exception<out_of_memory_error>(),
      text_exception<infeasible_error>(),
      text_exception<backpressure_error>(),
      text_exception<serialization_error>(),
      text_exception<connection_error>(),
      text_exception<authentication_error>(),
      text_exception<version_error>(),
  };
  return table;
}

}  // namespace ray::detail
