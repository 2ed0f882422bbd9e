/// Memory of task and object blocks: a cache of free blocks a thread, by size class, so that making
/// and freeing a small task costs a few instructions and no lock.
///
/// Blocks freed on another thread than the one that made them move between the caches in batches,
/// through a central list (the idea of tcmalloc's transfer cache). Larger blocks come from
/// `operator new`. Under the address and thread sanitizers all do, so that they see every block.
#pragma once

#include <cstddef>

namespace ray::detail {

inline constexpr std::size_t block_alignment = 64;  // a cache line: neighbours never share one

/// At least `size` bytes, aligned to `block_alignment`. Throws bad_alloc.
[[nodiscard]] void* allocate_block(std::size_t size);

/// `size` as it was given to `allocate_block`.
void free_block(void* block, std::size_t size) noexcept;

}  // namespace ray::detail
