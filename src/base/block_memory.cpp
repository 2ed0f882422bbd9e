#include <ray/detail/base/block_memory.hpp>

#include <array>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

namespace ray::detail::blocks {
namespace {

constexpr std::size_t chunk_size = std::size_t{64} * 1024;

void* plain_allocate(std::size_t size) {
  return ::operator new(size, std::align_val_t{block_alignment});
}

void plain_free(void* block) noexcept {
  ::operator delete(block, std::align_val_t{block_alignment});
}

struct batch {
  free_link* first;
  std::size_t count;
};

/// Batches that threads have given up, and the chunks that blocks are cut from. Never destroyed:
/// blocks may outlive every static object.
class central_list {
 public:
  batch take(std::size_t size_class) {
    {
      const std::lock_guard lock(mutex_);
      auto& batches = batches_[size_class];
      if (!batches.empty()) {
        const batch one = batches.back();
        batches.pop_back();
        return one;
      }
    }
    return cut_chunk(size_class);
  }

  void give(std::size_t size_class, batch one) noexcept {
    try {
      const std::lock_guard lock(mutex_);
      batches_[size_class].push_back(one);
    } catch (const std::bad_alloc&) {
      // No memory to remember the batch: it is lost, which beats ending the program in a
      // destructor.
    }
  }

 private:
  batch cut_chunk(std::size_t size_class) {
    const std::size_t size = (size_class + 1) * block_alignment;
    auto* bytes = static_cast<std::byte*>(plain_allocate(chunk_size));
    batch one{};
    for (std::size_t offset = 0; offset + size <= chunk_size; offset += size) {
      if (one.count == batch_size) give(size_class, std::exchange(one, batch{}));
      one.first = new (bytes + offset) free_link{one.first};
      ++one.count;
    }
    return one;
  }

  std::mutex mutex_;
  std::array<std::vector<batch>, class_count> batches_;
};

central_list& central() {
  static auto* list = new central_list;
  return *list;
}

constinit thread_local bool ended = false;

struct cache_returner {
  bool armed = false;
  ~cache_returner() {
    ended = true;
    for (std::size_t size_class = 0; size_class < class_count; ++size_class) {
      auto& lists = cache.classes[size_class];
      if (lists.active != nullptr) central().give(size_class, {lists.active, lists.active_count});
      if (lists.reserve != nullptr) central().give(size_class, {lists.reserve, batch_size});
      lists = {};
    }
  }
};
thread_local cache_returner returner;

}  // namespace

constinit thread_local thread_cache cache{};

void* allocate_slowly(std::size_t size) {
  if (plain || size > largest_pooled) return plain_allocate(size);
  // Of full size: whoever frees it may keep it for others.
  if (ended) return plain_allocate((class_of(size) + 1) * block_alignment);
  auto& lists = cache.classes[class_of(size)];
  if (lists.reserve != nullptr) {
    lists.active = std::exchange(lists.reserve, nullptr);
    lists.active_count = batch_size;
  } else {
    returner.armed = true;  // constructs it: from here on the thread has something to return
    const batch one = central().take(class_of(size));
    lists.active = one.first;
    lists.active_count = one.count;
  }
  free_link* block = lists.active;
  lists.active = block->next;
  --lists.active_count;
  return block;
}

void free_slowly(void* block, std::size_t size) noexcept {
  if (plain || size > largest_pooled) return plain_free(block);
  const std::size_t size_class = class_of(size);
  if (ended) return central().give(size_class, {new (block) free_link{nullptr}, 1});
  returner.armed = true;
  auto& lists = cache.classes[size_class];
  if (lists.active_count == batch_size) {
    if (lists.reserve != nullptr) central().give(size_class, {lists.reserve, batch_size});
    lists.reserve = std::exchange(lists.active, nullptr);
    lists.active_count = 0;
  }
  lists.active = new (block) free_link{lists.active};
  ++lists.active_count;
}

}  // namespace ray::detail::blocks
