// Exceptions that a program might throw, named in a header that two files include.
#pragma once

#include <stdexcept>
#include <string>

#include <ray/exception.hpp>

namespace exception_testing {

struct by_string : std::runtime_error {
  using std::runtime_error::runtime_error;
};
RAY_EXCEPTION(by_string)

/// With a semicolon, as many will write it.
struct by_characters : std::logic_error {
  explicit by_characters(const char* text) : std::logic_error(text) {}
};
RAY_EXCEPTION(by_characters);

/// What `what()` says and more.
struct with_code : std::runtime_error {
  explicit with_code(const std::string& text, int value = 0)
      : std::runtime_error(text), code(value) {}
  int code;
  template <typename Archive>
  void serialize(Archive& archive) {
    archive(code);
  }
};
RAY_EXCEPTION(with_code)

/// Not even derived from `std::exception`.
struct no_exception {
  std::string text;
  template <typename Archive>
  void serialize(Archive& archive) {
    archive(text);
  }
};
RAY_EXCEPTION(no_exception)

class built : public std::exception {
 public:
  built(int number, double limit) : number_(number), limit_(limit) {}
  [[nodiscard]] const char* what() const noexcept override { return "out of limits"; }
  [[nodiscard]] int number() const { return number_; }

  template <typename Archive>
  void save(Archive& archive) const {
    archive(number_, limit_);
  }
  template <typename Archive>
  static void load_and_construct(Archive& archive, cereal::construct<built>& construct) {
    int number = 0;
    double limit = 0;
    archive(number, limit);
    construct(number, limit);
  }

 private:
  int number_;
  double limit_;
};
RAY_EXCEPTION(built)

template <typename Detail, int Number>
struct of_template : std::runtime_error {
  using std::runtime_error::runtime_error;
};
RAY_EXCEPTION(of_template<int, 5>)

struct cannot_be_saved : std::runtime_error {
  using std::runtime_error::runtime_error;
  template <typename Archive>
  void serialize(Archive&) {
    if (Archive::is_saving::value) throw std::domain_error("no");
  }
};
RAY_EXCEPTION(cannot_be_saved)

struct cannot_be_loaded : std::runtime_error {
  using std::runtime_error::runtime_error;
  template <typename Archive>
  void serialize(Archive&) {
    if (Archive::is_loading::value) throw std::domain_error("no");
  }
};
RAY_EXCEPTION(cannot_be_loaded)

/// Nobody named it.
struct unnamed : by_string {
  using by_string::by_string;
};

/// Thrown by the other file.
[[nodiscard]] std::exception_ptr thrown_elsewhere();

}  // namespace exception_testing
