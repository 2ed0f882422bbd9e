#include <doctest/doctest.h>

#include <limits>
#include <numeric>

#include "archive_testing.hpp"

namespace {

using namespace base_testing;

TEST_CASE("arithmetic types and enumerations are their bytes") {
  enum class color : short { red, green };
  check_round_trip(true);
  check_round_trip('x');
  check_round_trip(-5);
  check_round_trip(std::numeric_limits<std::uint64_t>::max());
  check_round_trip(3.25);
  check_round_trip(1.5L);
  check_round_trip(color::green);
  check_round_trip(std::byte{7});
  CHECK(to_bytes(3.25).size() == sizeof(double));
}

TEST_CASE("strings and sequences") {
  check_round_trip(std::string());
  check_round_trip(std::string("short"));
  check_round_trip(std::string(300, 'x'));
  check_round_trip(std::u16string(u"sixteen"));
  check_round_trip(std::vector<int>());
  check_round_trip(std::vector<int>{1, 2, 3});
  check_round_trip(std::vector<std::string>{"a", std::string(40, 'b'), ""});
  check_round_trip(std::vector<std::vector<point>>{{{1, 2, 3}}, {}, {{4, 5, 6}, {7, 8, 9}}});
  check_round_trip(std::deque<int>{1, 2, 3});
  check_round_trip(std::list<std::string>{"a", "b"});
  check_round_trip(std::forward_list<int>{1, 2, 3});
  check_round_trip(std::array<int, 3>{1, 2, 3});
  check_round_trip(std::array<std::string, 2>{"a", "b"});
  const auto same = [](const auto& left, const auto& right) {
    return left.size() == right.size() && (left.size() == 0 || (left == right).min());
  };
  check_round_trip(std::valarray<double>{1, 2, 3}, same);
  check_round_trip(std::valarray<double>(), same);
}

TEST_CASE("bits") {
  check_round_trip(std::bitset<70>("1011"));
  std::vector<bool> bits;
  for (int i = 0; i < 20; ++i) {
    check_round_trip(bits);
    bits.push_back(i % 3 == 0);
  }
  CHECK(to_bytes(std::vector<bool>(80)).size() == 18);
}

TEST_CASE("sets and maps") {
  check_round_trip(std::set<int>{3, 1, 2});
  check_round_trip(std::multiset<std::string>{"a", "a", "b"});
  check_round_trip(std::unordered_set<int>{3, 1, 2});
  check_round_trip(std::unordered_multiset<int>{3, 1, 1});
  check_round_trip(std::map<int, std::string>{{1, "a"}, {2, "b"}});
  check_round_trip(std::multimap<int, std::string>{{1, "a"}, {1, "b"}});
  check_round_trip(std::unordered_map<std::string, std::vector<int>>{{"a", {1}}, {"b", {}}});
  check_round_trip(std::unordered_multimap<int, int>{{1, 2}, {1, 3}});
  check_round_trip(std::set<int, std::greater<>>{3, 1, 2});
}

TEST_CASE("products, sums and what is optional") {
  check_round_trip(std::pair<int, std::string>{1, "a"});
  check_round_trip(std::tuple<>());
  check_round_trip(std::tuple<int, double, std::string>{1, 2, "c"});
  check_round_trip(std::optional<std::string>());
  check_round_trip(std::optional<std::string>("a"));
  check_round_trip(std::optional<std::optional<int>>(std::optional<int>()));
  check_round_trip(std::variant<int, std::string, point>(std::string("a")));
  check_round_trip(std::variant<std::monostate, int>());
  check_round_trip(std::variant<int, int>(std::in_place_index<1>, 7));
  check_round_trip(std::complex<double>(1, 2));
  check_round_trip(std::chrono::milliseconds(7));
  check_round_trip(std::chrono::system_clock::time_point(std::chrono::hours(7)));
}

TEST_CASE("container adaptors") {
  std::stack<int> stack;
  std::queue<std::string> queue;
  for (int i = 0; i < 3; ++i) {
    stack.push(i);
    queue.push(std::to_string(i));
  }
  check_round_trip(stack);
  check_round_trip(queue);
  std::priority_queue<int> largest_first;
  for (const int i : {3, 9, 5}) largest_first.push(i);
  auto loaded = from_bytes<std::priority_queue<int>>(to_bytes(largest_first));
  CHECK(loaded.size() == 3);
  CHECK(loaded.top() == 9);
}

TEST_CASE("atomics are loaded in place") {
  struct nothing {};
  const std::atomic<int> value = 7;
  const auto bytes = to_bytes(value);
  const auto& operations = ray::detail::value_operations_of<std::atomic<int>>();
  alignas(std::atomic<int>) std::byte storage[sizeof(std::atomic<int>)];
  ray::detail::memory_source source(bytes);
  operations.load(storage, source);
  CHECK(std::launder(reinterpret_cast<std::atomic<int>*>(storage))->load() == 7);
  // Mapped values need not be movable.
  std::map<int, std::atomic<int>> map;
  map[3] = 4;
  const auto loaded = from_bytes<std::map<int, std::atomic<int>>>(to_bytes(map));
  CHECK(loaded.at(3) == 4);
}

TEST_CASE("pointers own what they point to") {
  const auto same = [](const auto& left, const auto& right) {
    return left == nullptr ? right == nullptr : right != nullptr && *left == *right;
  };
  check_round_trip(std::make_unique<int>(5), same);
  check_round_trip(std::unique_ptr<std::string>(), same);
  check_round_trip(std::make_unique<const person>(person{"a", 1}), same);
  check_round_trip(std::make_shared<const std::string>("a"), same);
  check_round_trip(std::shared_ptr<const int>(), same);
  check_round_trip(std::shared_ptr<const label>(std::make_shared<label>("a")), same);
}

TEST_CASE("what several pointers share is shared again") {
  using pointer = std::shared_ptr<const std::vector<int>>;
  const auto shared = std::make_shared<const std::vector<int>>(1000, 7);
  const std::vector<pointer> all = {shared, nullptr, shared,
                                    std::make_shared<const std::vector<int>>(1, 2), shared};
  const auto bytes = to_bytes(all);
  CHECK(bytes.size() < 2 * 1000 * sizeof(int));
  const auto loaded = from_bytes<std::vector<pointer>>(bytes);
  REQUIRE(loaded.size() == 5);
  CHECK(loaded[0] == loaded[2]);
  CHECK(loaded[0] == loaded[4]);
  CHECK(loaded[1] == nullptr);
  CHECK(*loaded[0] == *shared);
  CHECK(loaded[3]->at(0) == 2);
  CHECK(loaded[0].use_count() == 3);
}

TEST_CASE("an object and its first member are two, though they have one address") {
  const auto whole = std::make_shared<const point>(point{1, 2, 3});
  const std::shared_ptr<const double> part(whole, &whole->x);
  const std::pair both(whole, part);
  const auto loaded =
      from_bytes<std::pair<std::shared_ptr<const point>, std::shared_ptr<const double>>>(
          to_bytes(both));
  CHECK(*loaded.first == *whole);
  CHECK(*loaded.second == 1);
}

struct shares_itself : std::enable_shared_from_this<shares_itself> {
  int value = 0;
  template <typename Archive>
  void serialize(Archive& archive) {
    archive(value);
  }
};

TEST_CASE("a loaded object can share itself") {
  auto object = std::make_shared<shares_itself>();
  object->value = 5;
  const std::shared_ptr<const shares_itself> constant = object;
  const auto loaded = from_bytes<std::shared_ptr<const shares_itself>>(to_bytes(constant));
  CHECK(loaded->value == 5);
  CHECK(loaded->shared_from_this() == loaded);
}

struct mixed {
  std::optional<int> maybe;
  silent tag;
  std::variant<int, double> either;
  short numbers[3];
  bool operator==(const mixed&) const = default;
};

TEST_CASE("aggregates go as bytes, or member by member") {
  struct base {
    int first;
    bool operator==(const base&) const = default;
  };
  struct derived : base {
    float second;
    char text[20];
    bool operator==(const derived&) const = default;
  };
  check_round_trip(point{1, 2, 3});
  check_round_trip(derived{{1}, 2, "three"});
  CHECK(to_bytes(point{1, 2, 3}).size() == sizeof(point));
  CHECK(to_bytes(std::vector<point>(10)).size() == 8 + 10 * sizeof(point));

  check_round_trip(mixed{7, {1}, 2.5, {1, 2, 3}});
  check_round_trip(std::vector<mixed>(3, mixed{{}, {}, 1, {4, 5, 6}}));
}

TEST_CASE("elements that write nothing keep their number") {
  check_round_trip(std::vector<silent>(1000));
  check_round_trip(std::list<silent>(3));
  check_round_trip(std::map<int, silent>{{1, {}}, {2, {}}});
  check_round_trip(std::vector<std::pair<silent, silent>>(5));
  check_round_trip(std::vector<std::tuple<>>(5));
}

TEST_CASE("values without a default constructor are made in place") {
  check_round_trip(label("a"));
  check_round_trip(std::vector<label>{label("a"), label("b")});
  check_round_trip(std::pair<label, int>(label("a"), 1));
  check_round_trip(std::tuple<int, label, std::string>(1, label("a"), "b"));
  check_round_trip(std::optional<label>(label("a")));
  check_round_trip(std::variant<label, int>(label("a")));
  check_round_trip(std::variant<label, int>(5));
  check_round_trip(std::array<label, 2>{label("a"), label("b")});
  check_round_trip(std::map<int, label>{{1, label("a")}});
  check_round_trip(std::set<label>{label("a"), label("b")});
  check_round_trip(std::deque<label>{label("a")});
  check_round_trip(std::forward_list<label>{label("a"), label("b")});
}

TEST_CASE("large contiguous data goes to the sink from where it lies") {
  const std::vector<double> values(100'000, 1.5);
  piece_sink sink;
  ray::detail::save_value(values, sink);
  REQUIRE(sink.pieces.size() == 2);
  CHECK(sink.pieces[0].second == 8);
  CHECK(sink.pieces[1].first == reinterpret_cast<const std::byte*>(values.data()));
  CHECK(sink.pieces[1].second == values.size() * sizeof(double));

  const std::vector<point> points(50'000);
  piece_sink other;
  ray::detail::save_value(points, other);
  REQUIRE(other.pieces.size() == 2);
  CHECK(other.pieces[1].first == reinterpret_cast<const std::byte*>(points.data()));
}

TEST_CASE("small pieces are gathered") {
  const std::vector<std::string> words(10'000, "word");
  piece_sink sink;
  ray::detail::save_value(words, sink);
  CHECK(sink.pieces.size() < 50);
  CHECK(from_bytes<std::vector<std::string>>(sink.all) == words);
}

TEST_CASE("large data of every size around the pieces is loaded") {
  for (const std::size_t size : {255U, 256U, 257U, 32767U, 32768U, 32769U, 100'000U}) {
    std::vector<double> values(size);
    std::iota(values.begin(), values.end(), 0.0);
    const auto bytes = to_bytes(values);
    CHECK(from_bytes<std::vector<double>>(bytes) == values);
    ray::detail::memory_source source(bytes);
    CHECK(load_by_operations<std::vector<double>>(source) == values);
  }
}

TEST_CASE("a length is checked before memory is allocated for it") {
  auto bytes = to_bytes(std::vector<double>{1, 2, 3});
  for (const std::uint64_t length :
       {std::uint64_t{4}, std::uint64_t{1} << 40, std::numeric_limits<std::uint64_t>::max()}) {
    std::memcpy(bytes.data(), &length, sizeof(length));
    CHECK_THROWS_AS(static_cast<void>(from_bytes<std::vector<double>>(bytes)),
                    ray::serialization_error);
    CHECK_THROWS_AS(static_cast<void>(from_bytes<std::string>(bytes)), ray::serialization_error);
    CHECK_THROWS_AS(static_cast<void>(from_bytes<std::vector<bool>>(bytes)),
                    ray::serialization_error);
    CHECK_THROWS_AS((static_cast<void>(from_bytes<std::map<int, silent>>(bytes))),
                    ray::serialization_error);
    CHECK_THROWS_AS(static_cast<void>(from_bytes<std::list<silent>>(bytes)),
                    ray::serialization_error);
    CHECK_THROWS_AS(static_cast<void>(from_bytes<std::forward_list<person>>(bytes)),
                    ray::serialization_error);
    CHECK_THROWS_AS(static_cast<void>(from_bytes<std::vector<std::vector<int>>>(bytes)),
                    ray::serialization_error);
    CHECK_THROWS_AS(static_cast<void>(from_bytes<std::stack<int>>(bytes)),
                    ray::serialization_error);
  }
}

TEST_CASE("messages say what cannot be loaded, why and what it may be") {
  auto bytes = to_bytes(std::vector<double>{1, 2, 3});
  bytes[0] = std::byte{200};
  CHECK_THROWS_WITH_AS(
      static_cast<void>(from_bytes<std::vector<double>>(bytes)),
      doctest::Contains("cannot load std::vector<double, std::allocator<double> >: its length is "
                        "given as 200, at 8 bytes or more an element, and 24 bytes are left; the "
                        "bytes are damaged or cut off, or were saved as another type"),
      ray::serialization_error);
  CHECK_THROWS_WITH_AS(static_cast<void>(from_bytes<int>(to_bytes('a'))),
                       doctest::Contains("4 bytes are needed and 1 byte are left"),
                       ray::serialization_error);
  CHECK_THROWS_WITH_AS(static_cast<void>(from_bytes<char>(to_bytes(1))),
                       doctest::Contains("cannot load char: 3 bytes are left over"),
                       ray::serialization_error);
  CHECK_THROWS_WITH_AS(static_cast<void>(from_bytes<bool>(to_bytes('a'))),
                       doctest::Contains("cannot load a bool: 97 is no such value"),
                       ray::serialization_error);
  using choice = std::variant<int, std::string>;
  CHECK_THROWS_WITH_AS(static_cast<void>(from_bytes<choice>(to_bytes(std::uint32_t{2}))),
                       doctest::Contains("the index of a std::variant: 2 is no such value"),
                       ray::serialization_error);
}

TEST_CASE("damaged bytes end in an error or in another value") {
  check_damage(std::vector<std::string>{"one", "two", "three"});
  check_damage(std::map<std::string, std::vector<int>>{{"a", {1, 2}}, {"b", {3}}});
  check_damage(std::unordered_map<int, std::optional<std::string>>{{1, "a"}, {2, {}}});
  check_damage(std::vector<std::variant<int, std::string, std::vector<bool>>>{
      1, "a", std::vector<bool>(9, true)});
  check_damage(std::vector<person>{{"a", 1}, {"b", 2}});
  check_damage(std::vector<label>{label("a"), label("b")});
  check_damage(std::tuple<bool, std::deque<std::list<int>>, std::array<std::string, 2>>{
      true, {{1}, {2, 3}}, {"a", "b"}});
  const auto shared = std::make_shared<const std::string>("shared");
  check_damage(std::vector<std::shared_ptr<const std::string>>{shared, shared, nullptr});
  check_damage(std::set<std::pair<int, std::string>>{{1, "a"}, {2, "b"}});
  check_damage(std::stack<std::string>({"a", "b"}));
}

struct throws_when_made {
  std::string value;
  throws_when_made() = default;
  explicit throws_when_made(const char*) { throw std::runtime_error("not made"); }
  template <typename Archive>
  void serialize(Archive& archive) {
    archive(value);
  }
};

TEST_CASE("a variant without a value cannot be saved") {
  std::variant<std::string, throws_when_made> value("a");
  CHECK_THROWS_AS(value.emplace<1>("b"), std::runtime_error);
  REQUIRE(value.valueless_by_exception());
  CHECK_THROWS_WITH_AS(static_cast<void>(to_bytes(value)), doctest::Contains("it is valueless"),
                       ray::serialization_error);
}

}  // namespace
