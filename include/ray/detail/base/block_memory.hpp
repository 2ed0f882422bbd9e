/// Memory of task and object blocks: a cache of free blocks a thread, by size class, so that making
/// and freeing a small task costs a few instructions and no lock.
///
/// Blocks freed on another thread than the one that made them move between the caches in batches,
/// through a central list (the idea of tcmalloc's transfer cache). Larger blocks come from
/// `operator new`. Under the address and thread sanitizers all do, so that they see every block.
#pragma once

#include <array>
#include <cstddef>
#include <new>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define RAY_DETAIL_PLAIN_BLOCKS 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define RAY_DETAIL_PLAIN_BLOCKS 1
#endif
#endif

namespace ray::detail {

inline constexpr std::size_t block_alignment = 64;  // a cache line: neighbours never share one

namespace blocks {

inline constexpr std::size_t largest_pooled = 1024;
inline constexpr std::size_t class_count = largest_pooled / block_alignment;
inline constexpr std::size_t batch_size = 64;

constexpr std::size_t class_of(std::size_t size) noexcept { return (size - 1) / block_alignment; }

struct free_link {
  free_link* next;
};

/// The free blocks of one thread: two lists a class, so that a thread that makes and frees around
/// a batch boundary does not go to the central list each time (Bonwick's magazines, USENIX 2001).
struct thread_cache {
  struct lists {
    free_link* active;
    std::size_t active_count;  // at most `batch_size`
    free_link* reserve;        // empty, or a full batch
  };
  std::array<lists, class_count> classes;
};

extern constinit thread_local thread_cache cache;

[[nodiscard]] void* allocate_slowly(std::size_t size);
void free_slowly(void* block, std::size_t size) noexcept;

#ifdef RAY_DETAIL_PLAIN_BLOCKS
inline constexpr bool plain = true;
#else
inline constexpr bool plain = false;
#endif

}  // namespace blocks

/// At least `size` bytes, aligned to `block_alignment`. Throws bad_alloc.
[[nodiscard]] inline void* allocate_block(std::size_t size) {
  if (!blocks::plain && size <= blocks::largest_pooled) {
    auto& lists = blocks::cache.classes[blocks::class_of(size)];
    if (blocks::free_link* block = lists.active) [[likely]] {
      lists.active = block->next;
      --lists.active_count;
      return block;
    }
  }
  return blocks::allocate_slowly(size);
}

/// `size` as it was given to `allocate_block`.
inline void free_block(void* block, std::size_t size) noexcept {
  if (!blocks::plain && size <= blocks::largest_pooled) {
    auto& lists = blocks::cache.classes[blocks::class_of(size)];
    // An empty list may be that of a thread that ends: `free_slowly` knows.
    if (lists.active != nullptr && lists.active_count < blocks::batch_size) [[likely]] {
      lists.active = new (block) blocks::free_link{lists.active};
      ++lists.active_count;
      return;
    }
  }
  blocks::free_slowly(block, size);
}

}  // namespace ray::detail
