#include <ray/detail/base/function_name.hpp>

#include <doctest/doctest.h>

#include <cstdlib>

using ray::detail::function_name;
using ray::detail::symbol_name;

namespace named {

int plain(int x) { return x; }

struct thing {
  int method(int x) const { return x + 1; }
  virtual int hook() { return 1; }
  virtual ~thing() = default;
};

}  // namespace named

namespace {

int hidden(int x, int (*then)(int)) { return then(x); }

struct callable {
  int operator()() const { return 1; }
};

}  // namespace

TEST_CASE("functions have their own names, without parameters") {
  CHECK(function_name(&named::plain) == "named::plain");
  CHECK(function_name(&hidden) == "hidden");
  CHECK(function_name(&named::thing::method) == "named::thing::method");
  CHECK(function_name(&std::abort) == "abort");
}

TEST_CASE("what has no name of its own is called by its type") {
  CHECK(function_name(&named::thing::hook) == "int (named::thing::*)()");
  CHECK(function_name(callable()) == "callable");
  CHECK(symbol_name(nullptr).empty());
  int variable = 0;
  CHECK(symbol_name(&variable).empty());
  int (*const nowhere)(int) = nullptr;
  CHECK_FALSE(function_name(nowhere).empty());
}
