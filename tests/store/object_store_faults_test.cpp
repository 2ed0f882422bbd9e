// What goes wrong with one object or with the disk is told to the one it concerns; the rest lives.
#include <sys/mount.h>
#include <sys/resource.h>

#include <fstream>
#include <list>
#include <optional>

#include <doctest/doctest.h>

#include <ray/log.hpp>

#include "store/object_store.hpp"
#include "store_testing.hpp"

using namespace store_testing;

namespace {

template <typename Error, typename Function>
std::string message_of(Function&& function) {
  try {
    function();
  } catch (const Error& thrown) {
    return thrown.what();
  }
  return {};
}

bool mentions(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// Keeps the log's lines instead of writing them.
class captured_log {
 public:
  captured_log() {
    ray::detail::set_log_sink(
        [](void* self, ray::log_level, std::string_view line) {
          static_cast<captured_log*>(self)->lines_.emplace_back(line);
        },
        this);
  }
  ~captured_log() { ray::detail::set_log_sink(nullptr, nullptr); }

  [[nodiscard]] std::size_t count(const std::string& part) const {
    std::size_t found = 0;
    for (const std::string& line : lines_) found += mentions(line, part);
    return found;
  }

 private:
  std::vector<std::string> lines_;
};

value_operations with_save(void (*save)(const void*, byte_sink&)) {
  value_operations changed = numbers_operations;
  changed.save = save;
  return changed;
}
value_operations with_load(void (*load)(void*, byte_source&)) {
  value_operations changed = numbers_operations;
  changed.load = load;
  return changed;
}

/// Puts the first object on disk and returns where.
std::string spill_all_but_newest(object_store& store, std::list<object>& others,
                                 const std::filesystem::path& parent) {
  for (std::uint64_t seed = 100; seed < 108; ++seed) others.emplace_back(store, mib, seed);
  const auto files = files_below(parent);
  REQUIRE(files.size() == 1);
  return files.front().string();
}

}  // namespace

TEST_CASE("an object larger than the store is refused by name and size") {
  const temporary_directory parent;
  object_store store({mib, parent.path()});
  object small(store, 512 * kib, 1);
  const std::string message =
      message_of<ray::out_of_memory_error>([&] { object(store, 2 * mib, 2); });
  CHECK(mentions(message, to_string(id_of(2))));
  CHECK(mentions(message, "vector"));
  CHECK(mentions(message, "2.0 MiB"));
  CHECK(mentions(message, "1.0 MiB"));
  CHECK(mentions(message, "object_store_memory"));
  CHECK(small.intact());
  CHECK(store.stats().objects == 1);
  CHECK(store.stats().resident_bytes == 512 * kib);
}

TEST_CASE("a full disk is an error of the insertion, and what is stored stays readable") {
  const faults disk;
  const captured_log log;
  const temporary_directory parent;
  object_store store({4 * mib, parent.path()}, disk.calls_table);
  std::list<object> all;
  for (std::uint64_t seed = 0; seed < 10; ++seed) all.emplace_back(store, mib, seed);
  const statistics before = store.stats();
  faults::room = 300 * static_cast<std::int64_t>(kib);

  std::string message;
  std::uint64_t seed = 10;
  while (message.empty() && seed < 20) {
    message = message_of<ray::out_of_memory_error>([&] { all.emplace_back(store, mib, seed++); });
  }
  CHECK(mentions(message, to_string(id_of(seed - 1))));
  CHECK(mentions(message, "No space left on device"));
  CHECK(mentions(message, parent.path().string()));
  CHECK(mentions(message, "RAY_SPILL_DIR"));
  CHECK(log.count("No space left on device") == 1);
  CHECK(store.stats().objects == all.size());
  CHECK(store.stats().spilled_objects >= before.spilled_objects);
  CHECK(store.stats().resident_bytes <= 5 * mib);
  for (object& one : all) CHECK(one.intact());

  faults::heal();
  object late(store, mib, 50);
  CHECK(late.intact());
  for (object& one : all) CHECK(one.intact());
  CHECK(store.stats().resident_bytes <= 4 * mib);
}

TEST_CASE("small objects whose common write fails stay in memory") {
  const faults disk;
  const captured_log log;
  const temporary_directory parent;
  object_store store({mib, parent.path()}, disk.calls_table);
  faults::room = 10'000;
  std::list<object> all;
  const std::string message = message_of<ray::out_of_memory_error>([&] {
    for (std::uint64_t seed = 0; seed < 5'000; ++seed) all.emplace_back(store, kib, seed);
  });
  CHECK(mentions(message, "No space left on device"));
  CHECK(store.stats().spilled_objects == 0);
  CHECK(store.stats().file_bytes == 0);
  CHECK(store.stats().files == 0);
  std::size_t intact = 0;
  for (object& one : all) intact += one.intact();
  CHECK(intact == all.size());
}

TEST_CASE("on a full disk the copies of what is in memory make way") {
  const faults disk;
  const captured_log log;
  const temporary_directory parent;
  object_store store({4 * mib, parent.path()}, disk.calls_table);
  object old(store, mib, 0);
  std::list<object> all;
  for (std::uint64_t seed = 1; seed < 6; ++seed) all.emplace_back(store, mib, seed);
  // In memory again, and its record still there.
  CHECK(old.intact());
  const std::size_t before = store.stats().file_bytes;
  faults::room = 0;
  CHECK_THROWS_AS(
      {
        for (std::uint64_t seed = 6; seed < 12; ++seed) all.emplace_back(store, mib, seed);
      },
      ray::out_of_memory_error);
  CHECK(store.stats().file_bytes < before);
  faults::heal();
  CHECK(old.intact());
  for (object& one : all) CHECK(one.intact());
}

TEST_CASE("a spill directory that cannot be made is an error of the insertion") {
  const captured_log log;
  const temporary_directory parent;
  std::ofstream(parent.path() / "file") << "no directory";
  object_store store({mib, parent.path() / "file"});
  object first(store, 700 * kib, 1);
  const std::string message =
      message_of<ray::out_of_memory_error>([&] { object(store, 700 * kib, 2); });
  CHECK(mentions(message, (parent.path() / "file").string()));
  CHECK(mentions(message, "RAY_SPILL_DIR"));
  CHECK(first.intact());
  CHECK(store.stats().objects == 1);
}

TEST_CASE("a limit of file sizes is an error of the insertion") {
  const captured_log log;
  const temporary_directory parent;
  object_store store({mib, parent.path()});
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
  rlimit low = before;
  low.rlim_cur = 100'000;
  object first(store, 700 * kib, 1);
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &low) == 0);
  const std::string message =
      message_of<ray::out_of_memory_error>([&] { object(store, 700 * kib, 2); });
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &before) == 0);
  CHECK(mentions(message, "ulimit -f"));
  CHECK(first.intact());
}

TEST_CASE("a real disk that is full") {
  const temporary_directory parent;
  if (::mount("tmpfs", parent.path().c_str(), "tmpfs", 0, "size=3m") != 0) return;  // not root
  const captured_log log;
  {
    object_store store({4 * mib, parent.path()});
    std::list<object> all;
    const std::string message = message_of<ray::out_of_memory_error>([&] {
      for (std::uint64_t seed = 0; seed < 20; ++seed) all.emplace_back(store, mib, seed);
    });
    CHECK(mentions(message, "No space left on device"));
    CHECK(all.size() >= 5);
    for (object& one : all) CHECK(one.intact());
    // Room comes as objects die.
    while (all.size() > 3) all.pop_front();
    object late(store, mib, 50);
    CHECK(late.intact());
    for (object& one : all) CHECK(one.intact());
  }
  ::umount(parent.path().c_str());
}

TEST_CASE("a serializer that throws keeps its object in memory and harms no other") {
  const captured_log log;
  const temporary_directory parent;
  object_store store({4 * mib, parent.path()});
  value_operations failing = numbers_operations;
  SUBCASE("at once") {
    failing =
        with_save([](const void*, byte_sink&) { throw std::runtime_error("no bytes of me"); });
  }
  SUBCASE("with a part written") {
    failing = with_save([](const void* value, byte_sink& sink) {
      for (int part = 0; part < 3; ++part) numbers_operations.save(value, sink);
      throw std::runtime_error("no bytes of me");
    });
  }
  SUBCASE("something odd") {
    failing = with_save([](const void*, byte_sink&) { throw 7; });
  }
  object first(store, 900 * kib, 1);
  object stubborn(store, 900 * kib, 2, failing);
  object third(store, 900 * kib, 3);
  std::list<object> others;
  for (std::uint64_t seed = 4; seed < 20; ++seed) others.emplace_back(store, 900 * kib, seed);
  CHECK(log.count(to_string(id_of(2))) == 1);
  CHECK(log.count("") == 1);
  CHECK(store.stats().pinned_bytes == 900 * kib);
  CHECK(store.stats().spilled_objects >= 14);
  CHECK(first.intact());
  CHECK(stubborn.intact());
  CHECK(third.intact());
  for (object& one : others) CHECK(one.intact());
}

TEST_CASE("a serializer that gets no memory is tried again in the next pass") {
  const captured_log log;
  const temporary_directory parent;
  object_store store({4 * mib, parent.path()});
  static std::atomic<bool> broken;
  broken = true;
  const value_operations failing = with_save([](const void* value, byte_sink& sink) {
    if (broken) throw std::bad_alloc();
    numbers_operations.save(value, sink);
  });
  object unlucky(store, mib, 1, failing);
  std::list<object> others;
  for (std::uint64_t seed = 2; seed < 10; ++seed) others.emplace_back(store, mib, seed);
  const std::size_t before = store.stats().spilled_objects;
  CHECK(before >= 5);
  CHECK(log.count("") == 0);
  broken = false;
  for (std::uint64_t seed = 10; seed < 14; ++seed) others.emplace_back(store, mib, seed);
  CHECK(store.stats().spilled_objects >= before + 4);
  CHECK(unlucky.intact());
}

TEST_CASE("a serializer that cannot even be counted stays in memory") {
  const captured_log log;
  const temporary_directory parent;
  object_store store({4 * mib, parent.path()});
  value_operations failing =
      with_save([](const void*, byte_sink&) { throw std::runtime_error("no bytes of me"); });
  failing.heap_size = nullptr;
  object stubborn(store, mib, 1, failing);
  std::list<object> others;
  for (std::uint64_t seed = 2; seed < 10; ++seed) others.emplace_back(store, mib, seed);
  CHECK(log.count("no bytes of me") == 1);
  CHECK(stubborn.intact());
}

TEST_CASE("a serializer that swallows the error of a full disk does not pass for spilled") {
  const faults disk;
  const captured_log log;
  const temporary_directory parent;
  object_store store({4 * mib, parent.path()}, disk.calls_table);
  const value_operations swallowing = with_save([](const void* value, byte_sink& sink) {
    try {
      numbers_operations.save(value, sink);
    } catch (const std::exception&) {
    }
  });
  object careless(store, 3 * mib, 1, swallowing);
  faults::room = 100'000;
  CHECK_THROWS_AS(object(store, 3 * mib, 2), ray::out_of_memory_error);
  CHECK(careless.intact());
  faults::heal();
  object late(store, 3 * mib, 3);
  CHECK(store.stats().spilled_objects == 1);
  CHECK(careless.intact());
}

TEST_CASE("an unreadable file is an error of the one who asks, every time") {
  const faults disk;
  const temporary_directory parent;
  object_store store({2 * mib, parent.path()}, disk.calls_table);
  object first(store, mib, 1);
  std::list<object> others;
  const std::string path = spill_all_but_newest(store, others, parent.path());
  SUBCASE("the disk cannot read") {
    faults::unreadable = true;
    for (int time = 0; time < 2; ++time) {
      const std::string message = message_of<ray::object_lost_error>([&] { (void)first.intact(); });
      CHECK(mentions(message, to_string(id_of(1))));
      CHECK(mentions(message, path));
      CHECK(mentions(message, "Input/output error"));
    }
    CHECK(others.back().intact());
    faults::heal();
    CHECK(first.intact());
  }
  SUBCASE("the file is gone") {
    std::filesystem::rename(path, path + "x");
    for (int time = 0; time < 2; ++time) {
      const std::string message = message_of<ray::object_lost_error>([&] { (void)first.intact(); });
      CHECK(mentions(message, path));
      CHECK(mentions(message, "No such file"));
    }
    std::filesystem::rename(path + "x", path);
    CHECK(first.intact());
  }
  for (object& one : others) CHECK(one.intact());
  CHECK(store.stats().pinned_bytes == 0);
}

TEST_CASE("a damaged record is an error of its object alone") {
  const temporary_directory parent;
  object_store store({2 * mib, parent.path()});
  object first(store, mib, 1);
  std::list<object> others;
  const std::string path = spill_all_but_newest(store, others, parent.path());
  {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(500'000);
    file.write("damage", 6);
  }
  const std::size_t before = store.stats().resident_bytes;
  const std::string message = message_of<ray::object_lost_error>([&] { (void)first.intact(); });
  CHECK(mentions(message, to_string(id_of(1))));
  CHECK(mentions(message, "checksum"));
  CHECK(mentions(message, path));
  CHECK(store.stats().resident_bytes <= before);
  for (object& one : others) CHECK(one.intact());
  first.erase();
  CHECK(store.stats().objects == others.size());
}

TEST_CASE("a deserializer that throws, reads too little or asks for too much") {
  const temporary_directory parent;
  object_store store({2 * mib, parent.path()});
  static std::atomic<bool> broken;
  broken = true;
  value_operations failing = numbers_operations;
  std::string expected;
  SUBCASE("throws") {
    failing = with_load([](void* storage, byte_source& source) {
      if (broken) throw std::runtime_error("do not like it");
      numbers_operations.load(storage, source);
    });
    expected = "do not like it";
  }
  SUBCASE("throws something odd") {
    failing = with_load([](void* storage, byte_source& source) {
      if (broken) throw 7;
      numbers_operations.load(storage, source);
    });
    expected = "an exception that is no std::exception";
  }
  SUBCASE("reads too little") {
    failing = with_load([](void* storage, byte_source& source) {
      if (!broken) return numbers_operations.load(storage, source);
      std::uint64_t count = 0;
      load_bytes(source, &count, sizeof count);
      ::new (storage) numbers(17);
    });
    expected = "bytes of the value were not read";
  }
  SUBCASE("asks for too much") {
    failing = with_load([](void* storage, byte_source& source) {
      if (!broken) return numbers_operations.load(storage, source);
      numbers all(source.remaining());
      load_bytes(source, all.data(), all.size() * sizeof(std::uint64_t));
    });
    expected = "are left of what it wrote";
  }
  object first(store, mib, 1, failing);
  std::list<object> others;
  (void)spill_all_but_newest(store, others, parent.path());
  const std::string message = message_of<ray::object_lost_error>([&] { (void)first.intact(); });
  CHECK(mentions(message, to_string(id_of(1))));
  CHECK(mentions(message, expected));
  broken = false;
  CHECK(first.intact());
}

TEST_CASE("a deserializer that gets no memory is out_of_memory_error, and may be tried again") {
  const temporary_directory parent;
  object_store store({2 * mib, parent.path()});
  static std::atomic<bool> broken;
  broken = true;
  const value_operations failing = with_load([](void* storage, byte_source& source) {
    if (broken) throw std::bad_alloc();
    numbers_operations.load(storage, source);
  });
  object first(store, mib, 1, failing);
  std::list<object> others;
  (void)spill_all_but_newest(store, others, parent.path());
  CHECK(mentions(message_of<ray::out_of_memory_error>([&] { (void)first.intact(); }),
                 to_string(id_of(1))));
  broken = false;
  CHECK(first.intact());
}
