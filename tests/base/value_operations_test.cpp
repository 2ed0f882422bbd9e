#include <ray/detail/base/value_operations_of.hpp>

#include <doctest/doctest.h>

#include "archive_testing.hpp"

namespace {

using namespace base_testing;
using ray::detail::value_operations_of;

template <typename T>
const bool has_heap_size = value_operations_of<T>().heap_size != nullptr;

template <typename T>
std::size_t heap_size_of(const T& value) {
  REQUIRE(has_heap_size<T>);
  return value_operations_of<T>().heap_size(&value);
}

TEST_CASE("there is one table for each type") {
  const auto& operations = value_operations_of<std::string>();
  CHECK(&operations == &value_operations_of<std::string>());
  CHECK(*operations.type == typeid(std::string));
  CHECK(operations.size == sizeof(std::string));
  CHECK(operations.alignment == alignof(std::string));
  struct alignas(128) wide {
    int value;
  };
  CHECK(value_operations_of<wide>().alignment == 128);
}

TEST_CASE("the heap size of what holds nothing is 0") {
  CHECK(heap_size_of(5) == 0);
  CHECK(heap_size_of(point{}) == 0);
  CHECK(heap_size_of(std::optional<int>(5)) == 0);
  CHECK(heap_size_of(std::array<point, 5>()) == 0);
  CHECK(heap_size_of(std::tuple<int, double>()) == 0);
  CHECK(heap_size_of(std::variant<int, double>()) == 0);
}

TEST_CASE("the heap size of strings and vectors is exact") {
  CHECK(heap_size_of(std::string("short")) == 0);
  std::string text;
  text.reserve(1000);
  CHECK(heap_size_of(text) == text.capacity() + 1);
  std::vector<double> values;
  CHECK(heap_size_of(values) == 0);
  values.reserve(100);
  CHECK(heap_size_of(values) == 800);
  const std::vector<std::string> words{std::string(100, 'a'), "b"};
  CHECK(heap_size_of(words) == 2 * sizeof(std::string) + words[0].capacity() + 1);
  const std::vector<std::vector<int>> rows{std::vector<int>(10), std::vector<int>(20)};
  CHECK(heap_size_of(rows) == 2 * sizeof(std::vector<int>) + 30 * sizeof(int));
  CHECK(heap_size_of(std::pair(std::move(values), 1)) == 800);
  CHECK(heap_size_of(std::optional(std::vector<int>(10))) == 40);
  CHECK(heap_size_of(std::variant<int, std::vector<int>>(std::vector<int>(10))) == 40);
  CHECK(heap_size_of(std::make_unique<std::vector<int>>(10)) == sizeof(std::vector<int>) + 40);
  CHECK(heap_size_of(std::array<std::vector<int>, 2>{std::vector<int>(1), {}}) == 4);
}

TEST_CASE("containers of nodes are counted with their links") {
  CHECK(heap_size_of(std::map<int, int>{{1, 2}, {3, 4}}) == 2 * (32 + 8));
  CHECK(heap_size_of(std::list<double>(5)) == 5 * (16 + 8));
  CHECK(heap_size_of(std::set<int>()) == 0);
}

TEST_CASE("what only walking through everything would tell has no heap size") {
  CHECK_FALSE(has_heap_size<person>);
  CHECK_FALSE(has_heap_size<std::vector<person>>);
  CHECK_FALSE(has_heap_size<std::vector<std::vector<std::string>>>);
  CHECK_FALSE(has_heap_size<std::shared_ptr<const int>>);
}

int alive = 0;
struct counted {
  counted() { ++alive; }
  counted(const counted&) { ++alive; }
  ~counted() { --alive; }
  template <typename Archive>
  void serialize(Archive& archive) {
    archive(text);
  }
  std::string text;
};

TEST_CASE("a table saves, loads and destroys") {
  counted value;
  value.text = "text";
  const auto& operations = value_operations_of<counted>();
  piece_sink sink;
  operations.save(&value, sink);
  alignas(counted) std::byte storage[sizeof(counted)];
  ray::detail::memory_source source(sink.all);
  operations.load(storage, source);
  auto* loaded = std::launder(reinterpret_cast<counted*>(storage));
  CHECK(loaded->text == "text");
  CHECK(alive == 2);
  operations.destroy(loaded);
  CHECK(alive == 1);

  ray::detail::memory_source empty({});
  CHECK_THROWS_AS(operations.load(storage, empty), ray::serialization_error);
  CHECK(alive == 1);
}

}  // namespace
