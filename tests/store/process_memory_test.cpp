// The size of the process, as the kernel counts it, and when it is looked at.
#include "store/process_memory.hpp"

#include <sys/mman.h>

#include <cstring>

#include <doctest/doctest.h>

#include "store_testing.hpp"

using namespace store_testing;

namespace {

/// Memory that the process really has, and gives back at once.
class touched_memory {
 public:
  explicit touched_memory(std::size_t size)
      : size_(size),
        bytes_(::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
    REQUIRE(bytes_ != MAP_FAILED);
    std::memset(bytes_, 1, size);
  }
  ~touched_memory() { ::munmap(bytes_, size_); }
  touched_memory(const touched_memory&) = delete;
  touched_memory& operator=(const touched_memory&) = delete;

 private:
  std::size_t size_;
  void* bytes_;
};

bool shows_shortage_within(memory_sampler& sampler, int insertions) {
  for (int index = 0; index < insertions; ++index) {
    if (sampler.shows_shortage()) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("a process that does not grow is not short of memory") {
  memory_sampler sampler(64 * mib);
  CHECK_FALSE(shows_shortage_within(sampler, 2'000));
  CHECK(sampler.growth() < 32 * mib);
}

TEST_CASE("growth beyond the limit is seen within 256 insertions, and once for as much") {
  memory_sampler sampler(64 * mib);
  CHECK_FALSE(shows_shortage_within(sampler, 2'000));
  const touched_memory some(128 * mib);
  CHECK(sampler.growth() > 96 * mib);
  CHECK(shows_shortage_within(sampler, 257));
  sampler.settle();
  CHECK_FALSE(shows_shortage_within(sampler, 2'000));
  const touched_memory more(64 * mib);
  CHECK(shows_shortage_within(sampler, 257));
}

TEST_CASE("memory given back lowers the bar again") {
  memory_sampler sampler(64 * mib);
  {
    const touched_memory much(256 * mib);
    CHECK(shows_shortage_within(sampler, 257));
    sampler.settle();
  }
  CHECK(sampler.growth() < 64 * mib);
  sampler.settle();
  const touched_memory again(128 * mib);
  CHECK(shows_shortage_within(sampler, 257));
}
