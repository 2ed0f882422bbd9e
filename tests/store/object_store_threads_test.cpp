// The store under many threads: who waits for whom, and that no value is lost, torn or destroyed
// under a reader. Meant for the thread and address sanitizers too.
#include <array>
#include <future>
#include <latch>
#include <list>
#include <optional>
#include <random>

#include <doctest/doctest.h>

#include <ray/log.hpp>

#include "store/object_store.hpp"
#include "store_testing.hpp"

using namespace store_testing;

namespace {

/// A door in a serializer: it reports that it has been reached, and waits until it is opened.
struct gate {
  std::promise<void> reached;
  std::promise<void> opened;
  std::shared_future<void> open = opened.get_future().share();

  void pass() {
    reached.set_value();
    open.wait();
  }
};
gate* save_gate = nullptr;

value_operations gated_operations() {
  value_operations changed = numbers_operations;
  changed.save = [](const void* value, byte_sink& sink) {
    if (gate* const now = std::exchange(save_gate, nullptr)) now->pass();
    numbers_operations.save(value, sink);
  };
  return changed;
}

bool finished(const std::future<void>& work) {
  return work.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
}

struct crowd {
  std::vector<std::thread> threads;
  std::atomic<std::size_t> wrong{0};

  template <typename Function>
  void start(std::size_t count, Function function) {
    for (std::size_t index = 0; index < count; ++index) {
      threads.emplace_back([this, function, index] { wrong += function(index); });
    }
  }
  void join() {
    for (std::thread& thread : threads) thread.join();
    threads.clear();
  }
};

}  // namespace

TEST_CASE("an insertion over the limit waits for the courier") {
  const temporary_directory parent;
  static std::promise<void> woken;
  woken = {};
  options settings{2 * mib, parent.path(), [](void*) { woken.set_value(); }, nullptr};
  object_store store(settings);
  object first(store, mib, 1);
  object second(store, mib, 2);
  std::optional<object> third;
  auto inserting = std::async(std::launch::async, [&] { third.emplace(store, mib, 3); });
  woken.get_future().wait();
  CHECK_FALSE(finished(inserting));
  store.relieve();
  inserting.get();
  CHECK(third->intact());
  CHECK(first.intact());
}

TEST_CASE("an insertion that waits goes on when another object dies") {
  const temporary_directory parent;
  static std::promise<void> woken;
  woken = {};
  object_store store({2 * mib, parent.path(), [](void*) { woken.set_value(); }, nullptr});
  object first(store, mib, 1);
  object second(store, mib, 2);
  std::optional<object> third;
  auto inserting = std::async(std::launch::async, [&] { third.emplace(store, mib, 3); });
  woken.get_future().wait();
  first.erase();
  inserting.get();  // nobody relieves
  CHECK(store.stats().spills == 0);
}

TEST_CASE("a value may be pinned while it is being saved, and then stays") {
  const temporary_directory parent;
  courier helper;
  object_store store(helper.settings(2 * mib, parent.path()));
  helper.start(store);
  gate door;
  save_gate = &door;
  const value_operations operations = gated_operations();
  object first(store, mib, 1, operations);
  object second(store, mib, 2);
  std::optional<object> third;
  auto inserting = std::async(std::launch::async, [&] { third.emplace(store, mib, 3); });
  door.reached.get_future().wait();
  store.pin(first.tracked());  // does not wait for the door
  CHECK(holds(first.value(), mib, 1));
  door.opened.set_value();
  inserting.get();
  CHECK(holds(first.value(), mib, 1));
  CHECK(store.stats().pinned_bytes == mib);
  store.unpin(first.tracked());
  CHECK(second.intact());
  helper.stop();
}

TEST_CASE("erasing or taking a value waits for its serializer") {
  const temporary_directory parent;
  courier helper;
  object_store store(helper.settings(2 * mib, parent.path()));
  helper.start(store);
  gate door;
  save_gate = &door;
  const value_operations operations = gated_operations();
  object first(store, mib, 1, operations);
  object second(store, mib, 2);
  std::optional<object> third;
  auto inserting = std::async(std::launch::async, [&] { third.emplace(store, mib, 3); });
  door.reached.get_future().wait();
  std::future<void> ending;
  SUBCASE("erase") {
    ending = std::async(std::launch::async, [&] { first.erase(); });
  }
  SUBCASE("release") {
    ending = std::async(std::launch::async, [&] { CHECK(holds(first.take(), mib, 1)); });
  }
  CHECK_FALSE(finished(ending));
  door.opened.set_value();
  ending.get();
  inserting.get();
  CHECK(second.intact());
  CHECK(third->intact());
  helper.stop();
}

TEST_CASE("many want the same spilled value: one reads it, the others wait") {
  static std::atomic<int> loads;
  loads = 0;
  value_operations counting = numbers_operations;
  counting.load = [](void* storage, byte_source& source) {
    ++loads;
    numbers_operations.load(storage, source);
  };
  const temporary_directory parent;
  courier helper;
  object_store store(helper.settings(4 * mib, parent.path()));
  helper.start(store);
  object wanted(store, mib, 1, counting);
  std::list<object> others;
  for (std::uint64_t seed = 2; seed < 10; ++seed) others.emplace_back(store, mib, seed);
  REQUIRE(store.stats().spilled_objects > 0);
  constexpr std::size_t threads = 8;
  std::latch together(threads);
  std::latch all_have_it(threads);
  crowd readers;
  readers.start(threads, [&](std::size_t) -> std::size_t {
    together.arrive_and_wait();
    store.pin(wanted.tracked());
    all_have_it.arrive_and_wait();
    const bool same = holds(wanted.value(), mib, 1);
    store.unpin(wanted.tracked());
    return same ? 0 : 1;
  });
  readers.join();
  CHECK(readers.wrong == 0);
  CHECK(loads == 1);
  CHECK(store.stats().pinned_bytes == 0);
  helper.stop();
}

TEST_CASE("those who waited for a read that fails are told, too") {
  const faults disk;
  const temporary_directory parent;
  courier helper;
  object_store store(helper.settings(4 * mib, parent.path()), disk.calls_table);
  helper.start(store);
  object wanted(store, mib, 1);
  std::list<object> others;
  for (std::uint64_t seed = 2; seed < 10; ++seed) others.emplace_back(store, mib, seed);
  faults::unreadable = true;
  crowd readers;
  readers.start(8, [&](std::size_t) -> std::size_t {
    try {
      store.pin(wanted.tracked());
      return 1;
    } catch (const ray::object_lost_error&) {
      return 0;
    }
  });
  readers.join();
  CHECK(readers.wrong == 0);
  faults::heal();
  CHECK(wanted.intact());
  helper.stop();
}

TEST_CASE("what is unpinned over the limit wakes the courier") {
  const temporary_directory parent;
  courier helper;
  object_store store(helper.settings(2 * mib, parent.path()));
  helper.start(store);
  std::list<object> all;
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    store.pin(all.emplace_back(store, mib, seed).tracked());
  }
  CHECK(store.stats().resident_bytes == 6 * mib);
  for (object& one : all) store.unpin(one.tracked());
  helper.wait_until([&] { return store.stats().resident_bytes <= 2 * mib; });
  for (object& one : all) CHECK(one.intact());
  helper.stop();
}

TEST_CASE("the courier's own thread does not wait for itself") {
  const temporary_directory parent;
  object_store store({2 * mib, parent.path(), [](void*) {}, nullptr});
  store.relieve();  // this thread is the courier
  std::list<object> all;
  for (std::uint64_t seed = 0; seed < 6; ++seed) all.emplace_back(store, mib, seed);
  for (object& one : all) CHECK(one.intact());
  CHECK(store.stats().resident_bytes <= 2 * mib);
}

TEST_CASE("closing lets go of courier and disk, and objects in memory live on") {
  const temporary_directory parent;
  static std::array<std::promise<void>, 2> woken;
  static std::atomic<std::size_t> wakes;
  woken = {};
  wakes = 0;
  object_store store(
      {2 * mib, parent.path(), [](void*) { woken.at(wakes++).set_value(); }, nullptr});
  object first(store, mib, 1);
  object second(store, mib, 2);
  auto inserting = std::async(std::launch::async, [&] { object(store, mib, 3); });
  woken[0].get_future().wait();
  store.relieve();
  inserting.get();
  REQUIRE(store.stats().spilled_objects == 2);
  REQUIRE(files_below(parent.path()).size() == 1);

  store.pin(second.tracked());
  object third(store, mib, 4);
  std::optional<object> late;
  auto waiting = std::async(std::launch::async, [&] { late.emplace(store, mib, 5); });
  woken[1].get_future().wait();
  store.close();
  waiting.get();
  CHECK(files_below(parent.path()).empty());

  // No more wakes: there is no third promise.
  store.unpin(second.tracked());
  CHECK(second.intact());
  CHECK(third.intact());
  CHECK(late->intact());
  object after(store, mib, 6);
  CHECK(after.intact());
  CHECK_THROWS_AS((void)first.intact(), ray::object_lost_error);
  store.relieve();
  CHECK(files_below(parent.path()).empty());
}

TEST_CASE("threads that insert, read and erase at random over a small limit") {
  const temporary_directory parent;
  courier helper;
  object_store store(helper.settings(512 * kib, parent.path()));
  helper.start(store);
  constexpr std::size_t shared_count = 64;
  std::list<object> shared_objects;
  std::vector<object*> shared;
  for (std::uint64_t seed = 0; seed < shared_count; ++seed) {
    const value_operations& operations = seed % 4 == 0 ? unsized_operations : numbers_operations;
    shared.push_back(&shared_objects.emplace_back(store, 64 + 700 * seed, seed, operations));
  }
  crowd workers;
  workers.start(6, [&](std::size_t index) -> std::size_t {
    std::mt19937_64 random(index);
    std::list<object> own;
    std::size_t wrong = 0;
    std::uint64_t seed = (index + 1) * 1'000'000;
    for (int step = 0; step < 1'500; ++step) {
      switch (random() % 8) {
        case 0:
        case 1: {
          const std::size_t bytes = random() % 16 == 0 ? 200 * kib : random() % (8 * kib) + 8;
          const auto& operations = random() % 4 == 0 ? unsized_operations : numbers_operations;
          own.emplace_back(store, bytes, ++seed, operations);
          break;
        }
        case 2:
          if (!own.empty())
            own.erase(std::next(own.begin(), static_cast<int>(random() % own.size())));
          break;
        case 3:
          if (!own.empty()) {
            (void)own.front().take();
            own.pop_front();
          }
          break;
        case 4:
          if (!own.empty()) {
            wrong += !std::next(own.begin(), static_cast<int>(random() % own.size()))->intact();
          }
          break;
        default:
          wrong += !shared[random() % shared_count]->intact();
      }
    }
    return wrong;
  });
  workers.join();
  CHECK(workers.wrong == 0);
  CHECK(store.stats().pinned_bytes == 0);
  CHECK(store.stats().spills > 0);
  shared_objects.clear();
  const statistics now = store.stats();
  CHECK(now.objects == 0);
  CHECK(now.resident_bytes == 0);
  CHECK(now.spilled_bytes == 0);
  CHECK(now.spilled_objects == 0);
  CHECK(now.file_bytes == 0);
  helper.stop();
}

TEST_CASE("a disk that fails now and then, under many threads, loses nothing") {
  const faults disk;
  ray::detail::set_log_sink([](void*, ray::log_level, std::string_view) {}, nullptr);
  const temporary_directory parent;
  courier helper;
  object_store store(helper.settings(256 * kib, parent.path()), disk.calls_table);
  helper.start(store);
  std::atomic<bool> stop{false};
  std::thread saboteur([&] {
    std::mt19937_64 random(1);
    while (!stop) {
      faults::room =
          random() % 3 == 0 ? static_cast<std::int64_t>(random() % (64 * kib)) : INT64_MAX;
      std::this_thread::yield();
    }
    faults::room = INT64_MAX;
  });
  std::atomic<std::size_t> refused{0};
  crowd workers;
  workers.start(4, [&](std::size_t index) -> std::size_t {
    std::mt19937_64 random(index);
    std::list<object> own;
    std::size_t wrong = 0;
    std::uint64_t seed = (index + 1) * 1'000'000;
    for (int step = 0; step < 1'000; ++step) {
      try {
        own.emplace_back(store, random() % (16 * kib) + 8, ++seed);
      } catch (const ray::out_of_memory_error&) {
        ++refused;
      }
      if (own.size() > 60) own.pop_front();
      if (!own.empty()) {
        wrong += !std::next(own.begin(), static_cast<int>(random() % own.size()))->intact();
      }
    }
    return wrong;
  });
  workers.join();
  stop = true;
  saboteur.join();
  helper.stop();
  ray::detail::set_log_sink(nullptr, nullptr);
  CHECK(workers.wrong == 0);
  CHECK(store.stats().objects == 0);
  CHECK(store.stats().file_bytes == 0);
}
