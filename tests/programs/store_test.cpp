// The object store through the API: spilling, reading back, limits, errors of serializers.
#include "testing.hpp"

#include <atomic>
#include <filesystem>
#include <fstream>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include <stdlib.h>

namespace {

using programs::contains;
using programs::text_of;

constexpr std::size_t megabyte = std::size_t{1} << 20;

/// A directory for spilled objects, gone at the end.
class spill_folder {
 public:
  spill_folder() {
    std::string name = (std::filesystem::temp_directory_path() / "store-test-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~spill_folder() { std::filesystem::remove_all(path_); }
  spill_folder(const spill_folder&) = delete;
  spill_folder& operator=(const spill_folder&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] std::size_t bytes() const {
    std::size_t sum = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path_)) {
      if (entry.is_regular_file()) sum += entry.file_size();
    }
    return sum;
  }

 private:
  std::filesystem::path path_;
};

std::vector<double> numbers(int seed) {
  std::vector<double> values(megabyte / sizeof(double));
  std::iota(values.begin(), values.end(), seed * 1e6);
  return values;
}

struct cannot_be_saved {
  std::vector<char> bytes = std::vector<char>(megabyte);
  template <typename Archive>
  void save(Archive&) const {
    throw std::domain_error("the serializer fails");
  }
  template <typename Archive>
  void load(Archive&) {}
};

struct cannot_be_loaded {
  std::vector<char> bytes = std::vector<char>(megabyte);
  template <typename Archive>
  void save(Archive& archive) const {
    archive(bytes);
  }
  template <typename Archive>
  void load(Archive&) {
    throw std::domain_error("the deserializer fails");
  }
};

}  // namespace

TEST_CASE("what is over the budget spills and comes back the same") {
  const spill_folder folder;
  {
    auto session = ray::init(
        {.num_cpus = 2, .object_store_memory = 8 * megabyte, .spill_directory = folder.path()});
    std::vector<ray::future<std::vector<double>>> all;
    for (int i = 0; i < 40; ++i) all.push_back(ray::put(numbers(i)));
    CHECK(folder.bytes() > 20 * megabyte);
    for (int i = 39; i >= 0; --i) {
      const auto view = all[static_cast<std::size_t>(i)].view();
      CHECK((*view)[1] == i * 1e6 + 1);
      CHECK(view->back() == i * 1e6 + static_cast<double>(view->size()) - 1);
    }
    // As arguments, by reference and by value, of tasks at once.
    auto first = ray::remote([](const std::vector<double>& values) { return values[0]; });
    auto last = ray::remote([](std::vector<double> values) { return values.back(); });
    std::vector<ray::future<double>> sums;
    for (auto& one : all) {
      sums.push_back(first(one));
      sums.push_back(last(one));
    }
    CHECK(ray::get(sums)[78] == 39e6);
    CHECK(ray::get(std::move(all[3]))[0] == 3e6);
    all.clear();
  }
  CHECK(folder.bytes() == 0);
}

TEST_CASE("results and nested values spill, too") {
  const spill_folder folder;
  auto session = ray::init(
      {.num_cpus = 2, .object_store_memory = 4 * megabyte, .spill_directory = folder.path()});
  auto make = ray::remote([](int seed) {
    return std::vector<std::string>(1000, std::string(1000, static_cast<char>('a' + seed)));
  });
  std::vector<ray::future<std::vector<std::string>>> all;
  for (int i = 0; i < 20; ++i) all.push_back(make(i));
  for (auto& one : all) one.wait();
  for (int i = 0; i < 20; ++i) {
    CHECK(all[static_cast<std::size_t>(i)].view()->at(999)[0] == 'a' + i);
  }
  // Handles inside objects that spill stay good.
  std::vector<ray::future<std::pair<ray::future<std::vector<double>>, std::vector<double>>>> nested;
  for (int i = 0; i < 10; ++i) {
    nested.push_back(ray::put(std::pair(ray::put(numbers(i)), numbers(i + 100))));
  }
  for (int i = 0; i < 10; ++i) {
    const auto inner = nested[static_cast<std::size_t>(i)].view()->first;
    CHECK(inner.view()->front() == i * 1e6);
  }
}

TEST_CASE("a view keeps its object in memory") {
  const spill_folder folder;
  auto session = ray::init(
      {.num_cpus = 1, .object_store_memory = 4 * megabyte, .spill_directory = folder.path()});
  auto kept = ray::put(numbers(5));
  const auto view = kept.view();
  const double* where = view->data();
  std::vector<ray::future<std::vector<double>>> others;
  for (int i = 0; i < 20; ++i) others.push_back(ray::put(numbers(i)));
  CHECK(kept.view()->data() == where);
  CHECK((*view)[2] == 5e6 + 2);
}

TEST_CASE("an object larger than the whole budget is refused, and nothing else is lost") {
  const spill_folder folder;
  auto session = ray::init(
      {.num_cpus = 1, .object_store_memory = 4 * megabyte, .spill_directory = folder.path()});
  auto small = ray::put(numbers(1));
  CHECK_THROWS_AS((void)ray::put(std::vector<double>(megabyte)), ray::out_of_memory_error);
  auto made = ray::remote([] { return std::vector<double>(megabyte); })();
  CHECK_THROWS_AS(made.get(), ray::out_of_memory_error);
  CHECK(small.view()->front() == 1e6);
}

TEST_CASE("a spilled object is gone with its session; a view is not") {
  const spill_folder folder;
  const ray::config settings{
      .num_cpus = 1, .object_store_memory = 4 * megabyte, .spill_directory = folder.path()};
  std::vector<ray::future<std::vector<double>>> all;
  std::shared_ptr<const std::vector<double>> view;
  {
    auto session = ray::init(settings);
    for (int i = 0; i < 10; ++i) all.push_back(ray::put(numbers(i)));
    view = all[0].view();
  }
  CHECK(folder.bytes() == 0);
  CHECK((*view)[3] == 3);
  auto session = ray::init(settings);
  CHECK_THROWS_AS(all[1].get(), ray::error);
  all.clear();
  CHECK((*view)[4] == 4);
  view = nullptr;
  CHECK(ray::put(numbers(1)).view()->front() == 1e6);
}

TEST_CASE("put moves what is contiguous") {
  auto session = ray::init({.num_cpus = 1});
  std::vector<double> values = numbers(1);
  const double* data = values.data();
  auto stored = ray::put(std::move(values));
  CHECK(stored.view()->data() == data);
  CHECK(ray::get(std::move(stored)).data() == data);
}

TEST_CASE("an object whose serializer fails stays in memory; the others spill around it") {
  const spill_folder folder;
  auto session = ray::init(
      {.num_cpus = 1, .object_store_memory = 6 * megabyte, .spill_directory = folder.path()});
  auto odd = ray::put(cannot_be_saved());
  std::vector<ray::future<std::vector<double>>> others;
  for (int i = 0; i < 20; ++i) others.push_back(ray::put(numbers(i)));
  CHECK(odd.view()->bytes.size() == megabyte);
  for (int i = 0; i < 20; ++i) {
    CHECK(others[static_cast<std::size_t>(i)].view()->front() == i * 1e6);
  }
}

TEST_CASE(
    "an object whose file is damaged, or whose deserializer fails, is lost, and no other is") {
  const spill_folder folder;
  auto session = ray::init(
      {.num_cpus = 1, .object_store_memory = 4 * megabyte, .spill_directory = folder.path()});
  auto damaged = ray::put(numbers(1));
  std::vector<ray::future<std::vector<double>>> others;
  for (int i = 0; i < 10; ++i) others.push_back(ray::put(numbers(i)));
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder.path())) {
    if (!entry.is_regular_file()) continue;
    std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
    file.write(std::string(entry.file_size(), '#').data(),
               static_cast<std::streamsize>(entry.file_size()));
  }
  const auto read = ray::remote([](const std::vector<double>& values) { return values[0]; });
  for (int again = 0; again < 2; ++again) {
    const auto text = text_of<ray::object_lost_error>([&] { (void)damaged.view(); });
    CHECK(contains(text, to_string(damaged.id())));
    CHECK_THROWS_AS(damaged.get(), ray::object_lost_error);
    CHECK_THROWS_AS(read(damaged).get(), ray::object_lost_error);
  }

  others.clear();
  auto odd = ray::put(cannot_be_loaded());
  for (int i = 0; i < 10; ++i) others.push_back(ray::put(numbers(i)));
  const auto text = text_of<ray::object_lost_error>([&] { (void)odd.view(); });
  CHECK(contains(text, to_string(odd.id())));
  CHECK(contains(text, "the deserializer fails"));
  for (int i = 0; i < 10; ++i) CHECK(read(others[static_cast<std::size_t>(i)]).get() == i * 1e6);
}

TEST_CASE("when nothing can be spilled, what needs room fails and what is stored stays") {
  const spill_folder folder;
  auto session = ray::init({.num_cpus = 1,
                            .object_store_memory = 4 * megabyte,
                            .spill_directory = folder.path(),
                            .verbosity = ray::log_level::error});
  // A file where the directory was: not even root can write below it.
  std::filesystem::remove_all(folder.path());
  std::ofstream(folder.path()) << "in the way";
  std::vector<ray::future<std::vector<double>>> all;
  const auto text = text_of<ray::out_of_memory_error>([&] {
    for (int i = 0; i < 20; ++i) all.push_back(ray::put(numbers(i)));
  });
  CHECK(contains(text, "spilled"));
  CHECK_THROWS_AS(ray::remote(numbers)(1).get(), ray::out_of_memory_error);
  REQUIRE(all.size() >= 3);
  for (std::size_t i = 0; i < all.size(); ++i) {
    CHECK(all[i].view()->front() == static_cast<double>(i) * 1e6);
  }
  all.clear();
  CHECK(ray::put(numbers(7)).view()->front() == 7e6);
}

TEST_CASE("many threads read and write under memory pressure") {
  const spill_folder folder;
  auto session = ray::init(
      {.num_cpus = 4, .object_store_memory = 8 * megabyte, .spill_directory = folder.path()});
  auto make = ray::remote([](int seed) { return numbers(seed); });
  auto add = ray::remote(
      [](const std::vector<double>& a, const std::vector<double>& b) { return a[1] + b[2]; });
  std::vector<ray::future<std::vector<double>>> all;
  for (int i = 0; i < 50; ++i) all.push_back(make(i));
  std::vector<ray::future<double>> sums;
  for (std::size_t i = 0; i < 50; ++i) sums.push_back(add(all[i], all[(i * 7) % 50]));
  for (std::size_t i = 0; i < 50; ++i) {
    CHECK(sums[i].get() == (static_cast<double>(i) + static_cast<double>((i * 7) % 50)) * 1e6 + 3);
  }
}
