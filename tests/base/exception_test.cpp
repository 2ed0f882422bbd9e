#include <ray/exception.hpp>

#include <doctest/doctest.h>

#include <any>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <new>
#include <optional>
#include <regex>
#include <system_error>
#include <variant>

#include <ray/detail/base/error_value.hpp>
#include <ray/error.hpp>

#include "exception_types.hpp"

namespace {

using namespace exception_testing;
using ray::detail::exception_from_bytes;
using ray::detail::exception_to_bytes;
using ray::detail::portable_exception;

template <typename Exception>
std::exception_ptr pointer_to(Exception exception) {
  return std::make_exception_ptr(std::move(exception));
}

/// Whether it is exactly an `Exception`, neither a base nor a derived class.
template <typename Exception>
bool is_exactly(const std::exception_ptr& exception) {
  try {
    std::rethrow_exception(exception);
  } catch (const Exception& caught) {
    return typeid(caught) == typeid(Exception);
  } catch (...) {
    return false;
  }
}

std::string what_of(const std::exception_ptr& exception) {
  try {
    std::rethrow_exception(exception);
  } catch (const std::exception& caught) {
    return caught.what();
  } catch (...) {
    return "no std::exception";
  }
}

/// It stays what it is here, and becomes the same in another process.
template <typename Exception>
std::exception_ptr check_travels(const Exception& exception) {
  CAPTURE(typeid(Exception).name());
  const auto pointer = std::make_exception_ptr(exception);
  CHECK(portable_exception(pointer, "task f") == pointer);
  const auto made_again = exception_from_bytes(exception_to_bytes(pointer));
  CHECK(is_exactly<Exception>(made_again));
  if constexpr (std::derived_from<Exception, std::exception>) {
    CHECK(what_of(made_again) == exception.what());
  }
  return made_again;
}

TEST_CASE("standard exceptions stay what they are") {
  check_travels(std::exception());
  check_travels(std::bad_alloc());
  check_travels(std::bad_array_new_length());
  check_travels(std::bad_cast());
  check_travels(std::bad_any_cast());
  check_travels(std::bad_typeid());
  check_travels(std::bad_exception());
  check_travels(std::bad_function_call());
  check_travels(std::bad_optional_access());
  check_travels(std::bad_variant_access());
  check_travels(std::bad_weak_ptr());
  check_travels(std::logic_error("a"));
  check_travels(std::domain_error("b"));
  check_travels(std::invalid_argument("c"));
  check_travels(std::length_error("d"));
  check_travels(std::out_of_range("e"));
  check_travels(std::runtime_error("f"));
  check_travels(std::range_error("g"));
  check_travels(std::overflow_error("h"));
  check_travels(std::underflow_error(std::string(5000, 'i')));
  check_travels(std::regex_error(std::regex_constants::error_paren));
  check_travels(std::future_error(std::future_errc::broken_promise));
}

template <typename Exception>
std::error_code code_of(const std::exception_ptr& exception) {
  try {
    std::rethrow_exception(exception);
  } catch (const Exception& caught) {
    return caught.code();
  }
}

TEST_CASE("system errors keep their codes") {
  const auto plain = check_travels(std::system_error(ENOSPC, std::generic_category(), "cannot x"));
  CHECK(code_of<std::system_error>(plain) == std::errc::no_space_on_device);
  check_travels(std::system_error(ENOENT, std::system_category()));
  check_travels(std::system_error(make_error_code(std::future_errc::no_state), "x: y"));
  const auto stream = check_travels(
      std::ios_base::failure("cannot read", std::make_error_code(std::errc::io_error)));
  CHECK(code_of<std::ios_base::failure>(stream) == std::errc::io_error);

  const auto code = std::make_error_code(std::errc::permission_denied);
  const auto file =
      check_travels(std::filesystem::filesystem_error("cannot open", "/a/b", "/c d", code));
  try {
    std::rethrow_exception(file);
  } catch (const std::filesystem::filesystem_error& caught) {
    CHECK(caught.path1() == "/a/b");
    CHECK(caught.path2() == "/c d");
    CHECK(caught.code() == code);
  }
  check_travels(std::filesystem::filesystem_error("cannot", code));
  try {
    std::filesystem::directory_iterator nowhere("/no/such/directory");
  } catch (const std::filesystem::filesystem_error& caught) {
    check_travels(caught);
  }
}

TEST_CASE("an error category that another process lacks keeps its name and message") {
  class category final : public std::error_category {
   public:
    [[nodiscard]] const char* name() const noexcept override { return "weather"; }
    [[nodiscard]] std::string message(int) const override { return "rain"; }
  };
  static const category weather;
  const auto first =
      code_of<std::system_error>(check_travels(std::system_error(3, weather, "no picnic")));
  CHECK(std::string(first.category().name()) == "weather");
  CHECK(first.value() == 3);
  CHECK(first.message() == "rain");
  const auto second =
      code_of<std::system_error>(check_travels(std::system_error(3, weather, "nor walk")));
  CHECK(first == second);
}

TEST_CASE("what streams throw is the standard failure") {
  std::ifstream in("/no/such/file");
  std::exception_ptr thrown;
  try {
    in.exceptions(std::ios::failbit);
  } catch (...) {
    thrown = std::current_exception();
  }
  REQUIRE(thrown);
  CHECK(portable_exception(thrown, "task f") == thrown);
  const auto made_again = exception_from_bytes(exception_to_bytes(thrown));
  CHECK(is_exactly<std::ios_base::failure>(made_again));
  CHECK(what_of(made_again) == what_of(thrown));
  CHECK(ray::detail::exception_type_name(thrown) == "std::ios_base::failure");
}

TEST_CASE("ray's errors stay what they are") {
  check_travels(ray::error("a"));
  check_travels(ray::usage_error("a"));
  check_travels(ray::task_error("a"));
  check_travels(ray::cancelled_error("a"));
  check_travels(ray::timeout_error("a"));
  check_travels(ray::actor_died_error("a"));
  check_travels(ray::worker_died_error("a"));
  check_travels(ray::node_died_error("a"));
  check_travels(ray::object_lost_error("a"));
  check_travels(ray::out_of_memory_error("a"));
  check_travels(ray::infeasible_error("a"));
  check_travels(ray::backpressure_error("a"));
  check_travels(ray::serialization_error("a"));
  check_travels(ray::connection_error("a"));
  check_travels(ray::authentication_error("a"));
  check_travels(ray::version_error("a"));
}

TEST_CASE("exceptions named in RAY_EXCEPTION stay what they are") {
  check_travels(by_string("a"));
  check_travels(by_characters("b"));
  check_travels(of_template<int, 5>("c"));
  const auto coded = check_travels(with_code("d", 7));
  CHECK_THROWS_AS(std::rethrow_exception(coded), with_code);
  try {
    std::rethrow_exception(coded);
  } catch (const with_code& caught) {
    CHECK(caught.code == 7);
  }
  try {
    std::rethrow_exception(check_travels(no_exception{"e"}));
  } catch (const no_exception& caught) {
    CHECK(caught.text == "e");
  }
  try {
    std::rethrow_exception(check_travels(built(5, 2.5)));
  } catch (const built& caught) {
    CHECK(caught.number() == 5);
  }
  const auto elsewhere = thrown_elsewhere();
  CHECK(portable_exception(elsewhere, "task f") == elsewhere);
}

TEST_CASE("other exceptions become a task error that names them") {
  const auto error = portable_exception(pointer_to(unnamed("the reason")), "task f (1234)");
  REQUIRE(is_exactly<ray::task_error>(error));
  CHECK(what_of(error) ==
        "task f (1234) ended with an exception of type exception_testing::unnamed: the reason\n"
        "(to get it as what it is, write RAY_EXCEPTION(exception_testing::unnamed) at namespace "
        "scope)");
  // An exception that derives from a known one is not that one.
  struct local : std::out_of_range {
    using out_of_range::out_of_range;
  };
  CHECK(is_exactly<ray::task_error>(portable_exception(pointer_to(local("x")), "task f")));

  const auto number = portable_exception(pointer_to(42), "task f");
  REQUIRE(is_exactly<ray::task_error>(number));
  CHECK(what_of(number) ==
        "task f ended with an exception of type int, which has no what()\n"
        "(to know more, throw a class derived from std::exception)");
  CHECK(portable_exception(nullptr, "task f") == nullptr);
}

TEST_CASE("nested exceptions are told in order") {
  std::exception_ptr thrown;
  try {
    try {
      try {
        throw 42;
      } catch (...) {
        std::throw_with_nested(std::runtime_error("inner"));
      }
    } catch (...) {
      std::throw_with_nested(std::logic_error("outer"));
    }
  } catch (...) {
    thrown = std::current_exception();
  }
  CHECK(ray::detail::exception_text(thrown) == "outer; caused by: inner; caused by: int");
  const auto error = portable_exception(thrown, "task f");
  REQUIRE(is_exactly<ray::task_error>(error));
  CHECK(what_of(error).find("outer; caused by: inner; caused by: int") != std::string::npos);
}

TEST_CASE("an exception that cannot be saved or loaded is told as a task error") {
  const auto unsaved = pointer_to(cannot_be_saved("the reason"));
  CHECK(portable_exception(unsaved, "task f") == unsaved);
  const auto first = exception_from_bytes(exception_to_bytes(unsaved));
  REQUIRE(is_exactly<ray::task_error>(first));
  CHECK(what_of(first) ==
        "an exception of type exception_testing::cannot_be_saved, whose serializer failed (no): "
        "the reason");

  const auto second = exception_from_bytes(exception_to_bytes(pointer_to(cannot_be_loaded("why"))));
  REQUIRE(is_exactly<ray::task_error>(second));
  CHECK(what_of(second) ==
        "an exception of type exception_testing::cannot_be_loaded, which cannot be made again here "
        "(no): why");

  const auto third = exception_from_bytes(exception_to_bytes(pointer_to(unnamed("x"))));
  CHECK(is_exactly<ray::task_error>(third));
}

TEST_CASE("bytes of a type that is not known here") {
  const auto bytes = ray::detail::to_bytes(std::tuple(
      std::string("3foo"), std::string("foo"), std::string("text"), std::vector<std::byte>(3)));
  const auto error = exception_from_bytes(bytes);
  REQUIRE(is_exactly<ray::task_error>(error));
  CHECK(what_of(error) == "an exception of type foo, which is not known here: text");
}

TEST_CASE("damaged bytes of an exception") {
  const auto bytes = exception_to_bytes(pointer_to(with_code("text", 5)));
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    CHECK_THROWS_AS(static_cast<void>(exception_from_bytes({bytes.data(), size})),
                    ray::serialization_error);
  }
}

}  // namespace
