#include <ray/detail/base/type_name.hpp>

#include <cxxabi.h>

#include <cstdlib>
#include <memory>
#include <utility>

namespace ray::detail {

namespace {

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (auto at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

}  // namespace

std::string type_name(const std::type_info& type) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> demangled(
      abi::__cxa_demangle(type.name(), nullptr, nullptr, &status), &std::free);
  if (status != 0 || demangled == nullptr) return type.name();
  std::string name = demangled.get();
  replace_all(name, "std::__cxx11::", "std::");
  replace_all(name, "std::filesystem::__cxx11::", "std::filesystem::");
  replace_all(name, "[abi:cxx11]", "");
  replace_all(name, "std::basic_string<char, std::char_traits<char>, std::allocator<char> >",
              "std::string");
  // Default allocators say nothing; the innermost go first, as they are spelled without blanks.
  replace_all(name, "(anonymous namespace)::", "");
  return name;
}

}  // namespace ray::detail
