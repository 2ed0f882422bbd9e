#include "store/process_memory.hpp"

#include <fcntl.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

namespace ray::detail::store {

void trim_heap() noexcept {
#if defined(__GLIBC__)
  ::malloc_trim(0);
#endif
}

memory_sampler::memory_sampler(std::size_t limit) noexcept
    : limit_(limit),
      statm_(open_at(AT_FDCWD, "/proc/self/statm", O_RDONLY)),
      page_(static_cast<std::size_t>(::sysconf(_SC_PAGESIZE))),
      start_(resident_size()),
      threshold_(limit) {}

bool memory_sampler::shows_shortage() noexcept {
  // Acquire and release order the fields below between one looker and the next.
  if (countdown_.fetch_sub(1, std::memory_order_acquire) != 1) return false;
  const std::size_t grown = growth();
  const std::size_t threshold = threshold_.load(std::memory_order_relaxed);
  const bool shortage = grown > threshold;

  std::int64_t next = std::min(2 * interval_, longest_interval);
  if (grown > last_growth_) {
    // The next look is due before a quarter of what is left is gone, at the rate of late.
    const std::size_t rate = (grown - last_growth_) / static_cast<std::size_t>(interval_) + 1;
    const std::size_t left = shortage ? limit_ / 8 : threshold - grown;
    next = std::clamp<std::int64_t>(static_cast<std::int64_t>(left / 4 / rate), 1, next);
  }
  interval_ = next;
  last_growth_ = grown;
  countdown_.store(next, std::memory_order_release);
  return shortage;
}

std::size_t memory_sampler::growth() const noexcept {
  const std::size_t now = resident_size();
  return now > start_ ? now - start_ : 0;
}

void memory_sampler::settle() noexcept {
  const std::size_t grown = growth();
  threshold_.store(grown > limit_ ? grown + limit_ / 8 : limit_, std::memory_order_relaxed);
}

std::size_t memory_sampler::resident_size() const noexcept {
  if (!statm_.valid()) return 0;
  std::array<char, 128> text;
  const ssize_t size = ::pread(statm_.get(), text.data(), text.size(), 0);
  if (size <= 0) return 0;
  // "total resident shared ...", in pages.
  const char* const end = text.data() + size;
  const char* const space = std::find<const char*>(text.data(), end, ' ');
  if (space == end) return 0;
  std::size_t pages = 0;
  std::from_chars(space + 1, end, pages);
  return pages * page_;
}

}  // namespace ray::detail::store
