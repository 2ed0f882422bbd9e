// What the tests of serialization share: types with cereal functions of each form, and the proofs
// that every value must pass.
#pragma once

#include <doctest/doctest.h>

#include <random>
#include <string>
#include <vector>

#include <ray/detail/base/archive.hpp>
#include <ray/detail/base/type_name.hpp>
#include <ray/detail/base/value_operations_of.hpp>
#include <ray/error.hpp>

namespace base_testing {

using ray::detail::from_bytes;
using ray::detail::to_bytes;

/// Takes all that it gets, in pieces as they come.
class piece_sink final : public ray::detail::byte_sink {
 public:
  void write(std::span<const std::byte> bytes) override {
    pieces.push_back({bytes.data(), bytes.size()});
    all.insert(all.end(), bytes.begin(), bytes.end());
  }
  std::vector<std::pair<const std::byte*, std::size_t>> pieces;
  std::vector<std::byte> all;
};

/// Gives bytes from a source, which only knows an upper bound of what it has.
class loose_source final : public ray::detail::byte_source {
 public:
  explicit loose_source(std::span<const std::byte> bytes) : exact_(bytes) {}
  void read(std::span<std::byte> bytes) override { exact_.read(bytes); }
  [[nodiscard]] std::size_t remaining() const override { return exact_.remaining() + 100; }

 private:
  ray::detail::memory_source exact_;
};

template <typename T>
T load_by_operations(ray::detail::byte_source& source) {
  const ray::detail::value_operations& operations = ray::detail::value_operations_of<T>();
  alignas(T) std::byte storage[sizeof(T)];
  operations.load(storage, source);
  auto* value = std::launder(reinterpret_cast<T*>(storage));
  T result = std::move(*value);
  operations.destroy(value);
  return result;
}

/// Saved and loaded on every way there is, cut off at every byte, and with a byte too many.
template <typename T, typename Equal = std::equal_to<>>
void check_round_trip(const T& value, Equal equal = {}) {
  CAPTURE(ray::detail::type_name<T>());
  const std::vector<std::byte> bytes = to_bytes(value);
  CHECK(equal(from_bytes<T>(bytes), value));

  ray::detail::counting_archive count;
  count(value);
  CHECK(count.bytes() == bytes.size());

  piece_sink sink;
  ray::detail::value_operations_of<T>().save(&value, sink);
  CHECK(sink.all == bytes);

  ray::detail::memory_source exact(bytes);
  CHECK(equal(load_by_operations<T>(exact), value));
  CHECK(exact.remaining() == 0);
  loose_source loose(bytes);
  CHECK(equal(load_by_operations<T>(loose), value));

  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const std::span<const std::byte> prefix(bytes.data(), size);
    CHECK_THROWS_AS(static_cast<void>(from_bytes<T>(prefix)), ray::serialization_error);
    ray::detail::memory_source source(prefix);
    CHECK_THROWS_AS(static_cast<void>(load_by_operations<T>(source)), ray::serialization_error);
  }
  std::vector<std::byte> longer = bytes;
  longer.push_back(std::byte{});
  CHECK_THROWS_AS(static_cast<void>(from_bytes<T>(longer)), ray::serialization_error);
}

/// Damaged bytes make another value or a `serialization_error`, never anything else.
template <typename T>
void check_damage(const T& value) {
  CAPTURE(ray::detail::type_name<T>());
  const std::vector<std::byte> bytes = to_bytes(value);
  std::mt19937 random(42);  // NOLINT: the same damage in every run
  for (int round = 0; round < 2000; ++round) {
    std::vector<std::byte> damaged = bytes;
    const auto hits = 1 + random() % 4;
    for (unsigned hit = 0; hit < hits; ++hit) {
      damaged[random() % damaged.size()] = static_cast<std::byte>(random());
    }
    try {
      static_cast<void>(from_bytes<T>(damaged));
    } catch (const ray::serialization_error&) {
      // As it should be.
    }
  }
}

struct point {
  double x, y, z;
  bool operator==(const point&) const = default;
};

struct person {
  std::string name;
  int age = 0;
  bool operator==(const person&) const = default;
  template <typename Archive>
  void serialize(Archive& archive) {
    archive(cereal::make_nvp("name", name), CEREAL_NVP(age));
  }
};

/// A class that writes nothing.
struct silent {
  int cached = 0;
  bool operator==(const silent&) const { return true; }
  template <typename Archive>
  void serialize(Archive&) {}
};

/// No default constructor.
class label {
 public:
  explicit label(std::string text) : text_(std::move(text)) {}
  bool operator==(const label&) const = default;
  bool operator<(const label& other) const { return text_ < other.text_; }

  template <typename Archive>
  void save(Archive& archive) const {
    archive(text_);
  }
  template <typename Archive>
  static void load_and_construct(Archive& archive, cereal::construct<label>& construct) {
    std::string text;
    archive(text);
    construct(text);
  }

 private:
  std::string text_;
};

}  // namespace base_testing
