/// The exception types that can be turned into bytes and made again: the standard ones, ray's, and
/// those that the program names in `RAY_EXCEPTION`.
#pragma once

#include <concepts>
#include <exception>
#include <string>
#include <type_traits>
#include <typeinfo>

#include <ray/detail/base/archive.hpp>

namespace ray::detail {

/// How exceptions of one type become bytes and are made again. What `what()` said is kept beside
/// the bytes, so that it is known where the type is not.
struct exception_operations {
  const std::type_info* type;
  /// Appends what is in the exception beyond its `what()`.
  void (*save)(const std::exception_ptr& exception, byte_sink& sink);
  std::exception_ptr (*load)(const std::string& what, byte_source& source);
};

/// Once for each type; naming a type again changes nothing. From any thread.
void add_exception(const exception_operations& operations);

/// Null when there is none of exactly this type. What is returned lives as long as the program.
[[nodiscard]] const exception_operations* find_exception(const std::type_info& type);
/// By `type_info::name()`.
[[nodiscard]] const exception_operations* find_exception(const std::string& mangled_name);

template <typename Exception>
inline constexpr bool made_from_text = std::derived_from<Exception, std::exception> &&
                                       (std::is_constructible_v<Exception, const std::string&> ||
                                        std::is_constructible_v<Exception, const char*>);

template <typename Exception>
inline constexpr bool has_exception_functions =
    count_savers<Exception> == 1 &&
    (has_load_and_construct<Exception> ||
     (count_loaders<Exception> == 1 &&
      (made_from_text<Exception> || std::is_default_constructible_v<Exception>)));

/// An exception that says the same as the one whose `what()` was `text`.
template <typename Exception>
Exception exception_from_text(const std::string& text) {
  if constexpr (std::is_constructible_v<Exception, const std::string&>) {
    return Exception(text);
  } else {
    return Exception(text.c_str());
  }
}

template <typename Exception>
void save_exception(const std::exception_ptr& exception, byte_sink& sink) {
  if constexpr (has_exception_functions<Exception>) {
    try {
      std::rethrow_exception(exception);
    } catch (const Exception& caught) {
      save_value(caught, sink);
    }
  }
}

template <typename Exception>
std::exception_ptr load_exception(const std::string& what, byte_source& source) {
  input_archive archive(source);
  if constexpr (!has_exception_functions<Exception>) {
    return std::make_exception_ptr(exception_from_text<Exception>(what));
  } else if constexpr (has_load_and_construct<Exception> || !made_from_text<Exception>) {
    return std::make_exception_ptr(made_from(archive, std::type_identity<Exception>{}));
  } else {
    // The text first, which is the base class's, then what the class itself adds.
    Exception made = exception_from_text<Exception>(what);
    archive.read(made);
    return std::make_exception_ptr(std::move(made));
  }
}

/// Returns true, to initialize a variable with.
template <typename Exception>
bool register_exception() {
  static_assert(std::is_class_v<Exception> && std::is_copy_constructible_v<Exception>,
                "ray: RAY_EXCEPTION needs a class that can be copied, as exceptions are");
  static_assert(made_from_text<Exception> || has_exception_functions<Exception>,
                "ray: RAY_EXCEPTION needs a class that can be made again in another process: one "
                "derived from std::exception with a constructor that takes a std::string or a "
                "const char* alone, or one with a cereal serialize function and a default "
                "constructor");
  add_exception({.type = &typeid(Exception),
                 .save = &save_exception<Exception>,
                 .load = &load_exception<Exception>});
  return true;
}

}  // namespace ray::detail
