// The store on one thread, without a courier: what is spilled when, what comes back, what is
// counted.
#include "store/object_store.hpp"

#include <fcntl.h>

#include <list>

#include <doctest/doctest.h>

#include "store_testing.hpp"

using namespace store_testing;

namespace {

struct small_store {
  explicit small_store(std::size_t limit) : store({limit, parent.path()}) {}

  temporary_directory parent;
  object_store store;
};

}  // namespace

TEST_CASE("below its limit the store touches no disk") {
  small_store place(10 * mib);
  std::list<object> all;
  for (std::uint64_t seed = 0; seed < 9; ++seed) all.emplace_back(place.store, mib, seed);
  place.store.relieve();
  const statistics now = place.store.stats();
  CHECK(now.objects == 9);
  CHECK(now.resident_bytes == 9 * mib);
  CHECK(now.pinned_bytes == 0);
  CHECK(now.spills == 0);
  CHECK(now.memory_limit == 10 * mib);
  CHECK(files_below(place.parent.path()).empty());
}

TEST_CASE("beyond its limit objects go to disk and come back") {
  small_store place(4 * mib);
  std::list<object> all;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    all.emplace_back(place.store, mib, seed);
    CHECK(place.store.stats().resident_bytes <= 4 * mib);
  }
  statistics now = place.store.stats();
  CHECK(now.objects == 20);
  CHECK(now.spilled_objects >= 16);
  CHECK(now.spilled_bytes == now.spilled_objects * mib);
  CHECK(now.file_bytes >= now.spilled_bytes);
  CHECK(now.files == 1);
  for (object& one : all) CHECK(one.intact());
  for (object& one : all) CHECK(one.intact());
  now = place.store.stats();
  CHECK(now.resident_bytes <= 4 * mib);
  CHECK(now.restores >= 32);
  all.clear();
  now = place.store.stats();
  CHECK(now.objects == 0);
  CHECK(now.resident_bytes == 0);
  CHECK(now.spilled_bytes == 0);
  CHECK(now.spilled_objects == 0);
  CHECK(now.file_bytes == 0);
}

TEST_CASE("the least recently used go first") {
  small_store place(10 * mib);
  std::list<object> all;
  std::vector<object*> in_order;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    in_order.push_back(&all.emplace_back(place.store, mib, seed));
  }
  // Used in an order that is not that of insertion: 7 and 3 longest ago.
  for (const std::size_t index : {7U, 3U, 0U, 9U, 1U, 8U, 2U, 6U, 4U, 5U}) {
    CHECK(in_order[index]->intact());
  }
  object one_more(place.store, mib, 10);  // down to 8 MiB: three go
  CHECK(place.store.stats().spilled_objects == 3);
  for (const std::size_t index : {9U, 1U, 8U, 2U, 6U, 4U, 5U}) CHECK(in_order[index]->intact());
  CHECK(place.store.stats().restores == 0);
  for (const std::size_t index : {7U, 3U, 0U}) CHECK(in_order[index]->intact());
  CHECK(place.store.stats().restores == 3);
}

TEST_CASE("what is pinned stays, and lets the store go over its limit") {
  small_store place(4 * mib);
  std::list<object> pinned;
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    place.store.pin(pinned.emplace_back(place.store, mib, seed).tracked());
  }
  statistics now = place.store.stats();
  CHECK(now.resident_bytes == 6 * mib);
  CHECK(now.pinned_bytes == 6 * mib);
  CHECK(now.spills == 0);
  object another(place.store, mib, 6);
  CHECK(place.store.stats().spills == 0);  // the newest is not spilled for its own sake
  for (object& one : pinned) place.store.unpin(one.tracked());
  object last(place.store, mib, 7);
  CHECK(place.store.stats().resident_bytes <= 4 * mib);
  for (object& one : pinned) CHECK(one.intact());
}

TEST_CASE("pins nest") {
  small_store place(2 * mib);
  object one(place.store, mib, 1);
  place.store.pin(one.tracked());
  place.store.pin(one.tracked());
  place.store.unpin(one.tracked());
  std::list<object> others;
  for (std::uint64_t seed = 2; seed < 8; ++seed) others.emplace_back(place.store, mib, seed);
  CHECK(holds(one.value(), mib, 1));
  CHECK(place.store.stats().pinned_bytes == mib);
  place.store.unpin(one.tracked());
  for (object& other : others) CHECK(other.intact());
  CHECK(one.intact());
}

TEST_CASE("a second spill of the same object writes nothing") {
  static std::atomic<int> writes;
  writes = 0;
  const io_calls counting{[](int file, const iovec* parts, int count, off_t offset) {
                            ++writes;
                            return system_io.write(file, parts, count, offset);
                          },
                          system_io.read};
  const temporary_directory parent;
  object_store store({4 * mib, parent.path()}, counting);
  std::list<object> all;
  for (std::uint64_t seed = 0; seed < 10; ++seed) all.emplace_back(store, mib, seed);
  for (int round = 0; round < 2; ++round) {
    for (object& one : all) CHECK(one.intact());
  }
  const int before = writes;
  const std::size_t file_bytes = store.stats().file_bytes;
  for (object& one : all) CHECK(one.intact());
  CHECK(writes == before);
  CHECK(store.stats().file_bytes == file_bytes);
}

TEST_CASE("erasing frees the memory and the place on disk") {
  small_store place(4 * mib);
  std::list<object> all;
  for (std::uint64_t seed = 0; seed < 200; ++seed) all.emplace_back(place.store, mib, seed);
  CHECK(place.store.stats().files >= 3);
  all.front().erase();
  all.pop_front();
  while (all.size() > 100) all.pop_front();
  CHECK(place.store.stats().files <= 3);
  CHECK(place.store.stats().spilled_bytes <= 100 * mib);
  for (object& one : all) CHECK(one.intact());
  all.clear();
  CHECK(place.store.stats().files <= 1);
}

TEST_CASE("an owner takes a value back out") {
  small_store place(2 * mib);
  object one(place.store, mib, 1);
  object two(place.store, mib, 2);
  object three(place.store, mib, 3);
  const statistics before = place.store.stats();
  CHECK(before.spilled_objects >= 1);
  CHECK(holds(one.take(), mib, 1));
  CHECK(holds(three.take(), mib, 3));
  const statistics now = place.store.stats();
  CHECK(now.objects == 1);
  CHECK(two.intact());
  CHECK(now.resident_bytes <= mib);
}

TEST_CASE("the spill directory goes with the store") {
  const temporary_directory parent;
  {
    object_store store({mib, parent.path()});
    std::list<object> all;
    for (std::uint64_t seed = 0; seed < 8; ++seed) all.emplace_back(store, mib / 2, seed);
    CHECK(files_below(parent.path()).size() == 1);
  }
  CHECK(files_below(parent.path()).empty());
}

TEST_CASE("the first relief removes what a dead process has left") {
  const temporary_directory parent;
  const auto left = parent.path() / ("ray-spill-" + std::to_string(::geteuid())) / "4711-abc";
  std::filesystem::create_directories(left);
  ::close(::open((left / "lock").c_str(), O_CREAT | O_WRONLY, 0600));
  ::close(::open((left / "1").c_str(), O_CREAT | O_WRONLY, 0600));
  object_store store({mib, parent.path()});
  CHECK(std::filesystem::exists(left));
  store.relieve();
  CHECK_FALSE(std::filesystem::exists(left));
}

TEST_CASE("small objects are spilled too, many to a file") {
  small_store place(mib);
  std::list<object> all;
  for (std::uint64_t seed = 0; seed < 20'000; ++seed) all.emplace_back(place.store, 256, seed);
  const statistics now = place.store.stats();
  CHECK(now.resident_bytes <= mib);
  CHECK(now.spilled_objects >= 15'000);
  CHECK(now.files == 1);
  std::size_t intact = 0;
  for (object& one : all) intact += one.intact();
  CHECK(intact == all.size());
}

TEST_CASE("values that hold nothing need no entry") {
  const numbers none;
  const numbers some(1);
  CHECK_FALSE(object_store::worth_tracking(&none, numbers_operations));
  CHECK(object_store::worth_tracking(&some, numbers_operations));
  CHECK(object_store::worth_tracking(&none, unsized_operations));
}

TEST_CASE("objects of unknown size are measured when the store runs short, and then spilled") {
  small_store place(16 * mib);
  std::list<object> unsized;
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    unsized.emplace_back(place.store, mib, seed, unsized_operations);
  }
  std::list<object> sized;
  for (std::uint64_t seed = 8; seed < 25; ++seed) sized.emplace_back(place.store, mib, seed);
  const statistics now = place.store.stats();
  CHECK(now.resident_bytes <= 16 * mib);
  CHECK(now.spilled_objects >= 8);  // the unsized are the oldest
  for (object& one : unsized) CHECK(one.intact());
  for (object& one : sized) CHECK(one.intact());
  unsized.clear();
  sized.clear();
  CHECK(place.store.stats().resident_bytes == 0);
  CHECK(place.store.stats().spilled_bytes == 0);
}

TEST_CASE("objects of unknown size alone: the growth of the process tells") {
  small_store place(64 * mib);
  std::list<object> unsized;
  for (std::uint64_t seed = 0; seed < 160; ++seed) {
    unsized.emplace_back(place.store, mib, seed, unsized_operations);
  }
  const statistics now = place.store.stats();
  CHECK(now.spilled_objects >= 60);
  for (object& one : unsized) CHECK(one.intact());
}

namespace {

/// Drops another object when it dies, as a value does that holds the last handle of it.
struct keeper {
  explicit keeper(std::size_t bytes) : weight(bytes) {}
  ~keeper() { delete kept.exchange(nullptr); }

  numbers weight;
  std::atomic<object*> kept{nullptr};
};

const value_operations keeper_operations{
    &typeid(keeper),
    sizeof(keeper),
    alignof(keeper),
    [](const void* value) {
      return static_cast<const keeper*>(value)->weight.capacity() * sizeof(std::uint64_t);
    },
    [](const void*, byte_sink& sink) { save_bytes(sink, "k", 1); },
    [](void* storage, byte_source& source) {
      char letter = 0;
      load_bytes(source, &letter, 1);
      ::new (storage) keeper(1);
    },
    [](void* value) noexcept { static_cast<keeper*>(value)->~keeper(); },
};

}  // namespace

TEST_CASE("a value whose destructor drops another that is being spilled with it") {
  small_store place(mib);
  alignas(keeper) std::byte storage[sizeof(keeper)];
  auto* const first = ::new (static_cast<void*>(storage)) keeper(1'000);
  entry* const tracked = place.store.insert(first, keeper_operations, id_of(1));
  first->kept = new object(place.store, 10 * kib, 2);
  // Both are the oldest and small: one batch.
  std::list<object> others;
  for (std::uint64_t seed = 3; seed < 30; ++seed) others.emplace_back(place.store, 64 * kib, seed);
  CHECK(place.store.stats().objects == 28);
  for (object& one : others) CHECK(one.intact());
  place.store.erase(tracked);
}
