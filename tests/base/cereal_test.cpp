// What classes' own cereal functions may do with the archives.
#include <doctest/doctest.h>
#include <cereal/types/base_class.hpp>
#include <cereal/types/polymorphic.hpp>

#include <functional>
#include <stdexcept>

#include "archive_testing.hpp"

namespace {

using namespace base_testing;

struct by_minimal_functions {
  std::string text;
  bool operator==(const by_minimal_functions&) const = default;
  template <typename Archive>
  std::string save_minimal(const Archive&) const {
    return text;
  }
  template <typename Archive>
  void load_minimal(const Archive&, const std::string& value) {
    text = value;
  }
};

struct split {
  std::vector<point> points;
  bool operator==(const split&) const = default;
  template <typename Archive>
  void save(Archive& archive) const {
    archive(cereal::make_size_tag(static_cast<cereal::size_type>(points.size())));
    for (const point& each : points) archive& each;
    archive(cereal::binary_data(points.data(), points.size() * sizeof(point)));
  }
  template <typename Archive>
  void load(Archive& archive) {
    cereal::size_type size = 0;
    archive(cereal::make_size_tag(size));
    points.resize(size);
    for (point& each : points) archive& each;
    archive(cereal::binary_data(points.data(), points.size() * sizeof(point)));
  }
};

struct versioned {
  int first = 0;
  int second = 0;
  std::uint32_t version_seen = 0;
  bool operator==(const versioned& other) const {
    return first == other.first && second == other.second;
  }
  template <typename Archive>
  void serialize(Archive& archive, const std::uint32_t version) {
    version_seen = version;
    archive(first, second);
  }
};

struct base {
  int number = 0;
  bool operator==(const base&) const = default;
  template <typename Archive>
  void serialize(Archive& archive) {
    archive(number);
  }
};
struct left : virtual base {
  template <typename Archive>
  void serialize(Archive& archive) {
    archive(cereal::virtual_base_class<base>(this));
  }
};
struct right : virtual base {
  template <typename Archive>
  void serialize(Archive& archive) {
    archive(cereal::virtual_base_class<base>(this));
  }
};
struct diamond : left, right {
  bool operator==(const diamond& other) const { return number == other.number; }
  template <typename Archive>
  void serialize(Archive& archive) {
    archive(cereal::base_class<left>(this), cereal::base_class<right>(this));
  }
};

struct plain {
  int a;
  int b;
  bool operator==(const plain&) const = default;
};
struct on_plain : plain {
  std::string text;
  bool operator==(const on_plain&) const = default;
  template <typename Archive>
  void serialize(Archive& archive) {
    archive(cereal::base_class<plain>(this), text);
  }
};

struct deferring {
  int first = 0;
  std::string later;
  bool operator==(const deferring&) const = default;
  template <typename Archive>
  void serialize(Archive& archive) {
    archive(cereal::defer(later), first);
    archive.serializeDeferments();
  }
};

/// A graph of its own: what a class does inside is its own affair.
struct graph {
  struct node {
    int value = 0;
    std::weak_ptr<node> back;
    std::shared_ptr<node> next;
    template <typename Archive>
    void serialize(Archive& archive) {
      archive(value, back, next);
    }
  };
  std::shared_ptr<node> first;
  template <typename Archive>
  void serialize(Archive& archive) {
    archive(first);
  }
};

TEST_CASE("functions of every form") {
  check_round_trip(person{"a", 1});
  check_round_trip(by_minimal_functions{"text"});
  check_round_trip(split{{{1, 2, 3}, {4, 5, 6}}});
  check_round_trip(diamond());
  check_round_trip(on_plain{{1, 2}, "a"});
  check_round_trip(deferring{1, "later"});
  check_round_trip(std::map<std::string, std::vector<person>>{{"a", {{"b", 1}}}, {"c", {}}});
}

TEST_CASE("a class's version is written once") {
  versioned value;
  value.first = 1;
  check_round_trip(value);
  const std::vector<versioned> many(10, value);
  CHECK(to_bytes(many).size() == 8 + 4 + 10 * 8);
  check_round_trip(many);
}

TEST_CASE("pointers inside a class are cereal's affair") {
  graph value;
  value.first = std::make_shared<graph::node>();
  value.first->value = 1;
  value.first->next = std::make_shared<graph::node>();
  value.first->next->value = 2;
  value.first->next->back = value.first;
  const auto loaded = from_bytes<graph>(to_bytes(value));
  CHECK(loaded.first->next->value == 2);
  CHECK(loaded.first->next->back.lock() == loaded.first);
}

// Polymorphic classes, registered with cereal.

struct shape {
  virtual ~shape() = default;
  [[nodiscard]] virtual double area() const = 0;
};
struct square : shape {
  double side = 0;
  [[nodiscard]] double area() const override { return side * side; }
  template <typename Archive>
  void serialize(Archive& archive) {
    archive(side);
  }
};
struct forgotten : shape {
  [[nodiscard]] double area() const override { return 0; }
};

}  // namespace

CEREAL_REGISTER_TYPE(square)
CEREAL_REGISTER_POLYMORPHIC_RELATION(shape, square)

namespace {

TEST_CASE("pointers to registered polymorphic classes travel") {
  auto made = std::make_unique<square>();
  made->side = 3;
  const std::unique_ptr<shape> one = std::move(made);
  CHECK(from_bytes<std::unique_ptr<shape>>(to_bytes(one))->area() == 9);

  auto shared = std::make_shared<square>();
  shared->side = 2;
  const std::vector<std::shared_ptr<const shape>> several = {shared, nullptr, shared};
  const auto loaded = from_bytes<std::vector<std::shared_ptr<const shape>>>(to_bytes(several));
  CHECK(loaded[0]->area() == 4);
  CHECK(loaded[1] == nullptr);
  CHECK(loaded[2] == loaded[0]);
}

TEST_CASE("what cereal throws becomes a serialization error that names the type") {
  const std::unique_ptr<shape> unknown = std::make_unique<forgotten>();
  CHECK_THROWS_WITH_AS(static_cast<void>(to_bytes(unknown)),
                       doctest::Contains("cannot save std::unique_ptr<shape"),
                       ray::serialization_error);
  const auto bytes = to_bytes(std::uint32_t{77});
  CHECK_THROWS_AS(static_cast<void>(from_bytes<std::unique_ptr<shape>>(bytes)),
                  ray::serialization_error);
}

struct failing {
  int value = 0;
  template <typename Archive>
  void serialize(Archive& archive) {
    archive(value);
    if (value == 1 && Archive::is_saving::value) throw std::domain_error("cannot be saved");
    if (value == 2 && Archive::is_loading::value) throw std::range_error("cannot be loaded");
  }
};

TEST_CASE("what a class's own functions throw passes through") {
  CHECK_THROWS_WITH_AS(static_cast<void>(to_bytes(failing{1})), "cannot be saved",
                       std::domain_error);
  const auto bytes = to_bytes(failing{2});
  CHECK_THROWS_WITH_AS(static_cast<void>(from_bytes<failing>(bytes)), "cannot be loaded",
                       std::range_error);
  const auto many = to_bytes(std::vector<failing>(3, failing{2}));
  CHECK_THROWS_AS(static_cast<void>(from_bytes<std::vector<failing>>(many)), std::range_error);
}

/// Counts its objects, and throws before or after one is constructed.
class constructed {
 public:
  explicit constructed(int mode) : mode_(mode) { ++alive; }
  constructed(constructed&& other) noexcept : mode_(other.mode_) { ++alive; }
  ~constructed() { --alive; }

  template <typename Archive>
  void save(Archive& archive) const {
    archive(mode_);
  }
  template <typename Archive>
  static void load_and_construct(Archive& archive, cereal::construct<constructed>& construct) {
    int mode = 0;
    archive(mode);
    if (mode == 1) throw std::runtime_error("before");
    if (mode == 2) return;
    construct(mode);
    if (mode == 3) throw std::runtime_error("after");
  }

  static inline int alive = 0;

 private:
  int mode_;
};

TEST_CASE("nothing is left of an object whose construction fails") {
  for (const int mode : {0, 1, 2, 3}) {
    CAPTURE(mode);
    const auto bytes = to_bytes(constructed(mode));
    REQUIRE(constructed::alive == 0);
    const auto load = [&] { static_cast<void>(from_bytes<constructed>(bytes)); };
    const auto load_owned = [&] {
      const auto owned = to_bytes(std::make_unique<constructed>(mode));
      static_cast<void>(from_bytes<std::unique_ptr<constructed>>(owned));
    };
    if (mode == 0) {
      CHECK_NOTHROW(load());
      CHECK_NOTHROW(load_owned());
    } else if (mode == 2) {
      CHECK_THROWS_AS(load(), ray::serialization_error);
      CHECK_THROWS_AS(load_owned(), ray::serialization_error);
    } else {
      CHECK_THROWS_AS(load(), std::runtime_error);
      CHECK_THROWS_AS(load_owned(), std::runtime_error);
    }
    CHECK(constructed::alive == 0);
  }
}

TEST_CASE("a sink that fails is heard") {
  class full final : public ray::detail::byte_sink {
   public:
    void write(std::span<const std::byte>) override {
      throw std::system_error(ENOSPC, std::generic_category());
    }
  } sink;
  CHECK_THROWS_AS(ray::detail::save_value(1, sink), std::system_error);
  CHECK_THROWS_AS(ray::detail::save_value(std::string("small"), sink), std::system_error);
  CHECK_THROWS_AS(ray::detail::save_value(std::vector<int>(10'000), sink), std::system_error);
}

}  // namespace
