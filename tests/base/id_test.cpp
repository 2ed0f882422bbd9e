#include <ray/id.hpp>

#include <doctest/doctest.h>

#include <sstream>
#include <unordered_set>

#include <ray/detail/base/archive.hpp>
#include <ray/detail/base/type_name.hpp>

namespace {

TEST_CASE("an id is printed as 32 hexadecimal digits") {
  const ray::object_id id{0x0123456789abcdef, 0xfedcba9876543210};
  CHECK(to_string(id) == "0123456789abcdeffedcba9876543210");
  CHECK(to_string(ray::task_id{}) == std::string(32, '0'));
  std::ostringstream out;
  out << std::hex << id;
  CHECK(out.str() == to_string(id));
}

TEST_CASE("ids are regular and hashable") {
  const ray::node_id one{1, 2};
  ray::node_id two = one;
  CHECK(one == two);
  two.low = 3;
  CHECK(one < two);
  std::unordered_set<ray::node_id> set{one, two, one};
  CHECK(set.size() == 2);
}

TEST_CASE("ids travel") {
  const ray::actor_id id{1, 2};
  CHECK(ray::detail::from_bytes<ray::actor_id>(ray::detail::to_bytes(id)) == id);
  CHECK(ray::detail::to_bytes(id).size() == 16);
}

TEST_CASE("the process's half of every id stays the same and is not empty") {
  CHECK(ray::detail::process_id_prefix() != 0);
  CHECK(ray::detail::process_id_prefix() == ray::detail::process_id_prefix());
}

struct local_type {};

TEST_CASE("type names are readable") {
  using ray::detail::type_name;
  CHECK(type_name<int>() == "int");
  CHECK(type_name<std::string>() == "std::string");
  CHECK(type_name<local_type>() == "local_type");
  CHECK(type_name<std::vector<std::string>>().starts_with("std::vector<std::string"));
  CHECK(type_name<std::system_error>() == "std::system_error");
}

}  // namespace
