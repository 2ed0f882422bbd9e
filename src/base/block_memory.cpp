#include <ray/detail/base/block_memory.hpp>

#include <array>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define RAY_PLAIN_BLOCKS 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define RAY_PLAIN_BLOCKS 1
#endif
#endif
#ifndef RAY_PLAIN_BLOCKS
#define RAY_PLAIN_BLOCKS 0
#endif

namespace ray::detail {
namespace {

constexpr std::size_t largest_pooled = 1024;
constexpr std::size_t class_count = largest_pooled / block_alignment;
constexpr std::size_t batch_size = 64;
constexpr std::size_t chunk_size = std::size_t{64} * 1024;

struct free_block_link {
  free_block_link* next;
};

void* plain_allocate(std::size_t size) {
  return ::operator new(size, std::align_val_t{block_alignment});
}

void plain_free(void* block) noexcept {
  ::operator delete(block, std::align_val_t{block_alignment});
}

constexpr std::size_t class_of(std::size_t size) noexcept { return (size - 1) / block_alignment; }

/// Full batches that threads have given up, and the chunks that blocks are cut from. Never
/// destroyed: blocks may outlive every static object.
class central_list {
 public:
  free_block_link* take_batch(std::size_t size_class) {
    {
      const std::lock_guard lock(mutex_);
      auto& batches = batches_[size_class];
      if (!batches.empty()) {
        free_block_link* batch = batches.back();
        batches.pop_back();
        return batch;
      }
    }
    return cut_chunk((size_class + 1) * block_alignment);
  }

  void give_batch(std::size_t size_class, free_block_link* batch) noexcept {
    try {
      const std::lock_guard lock(mutex_);
      batches_[size_class].push_back(batch);
    } catch (const std::bad_alloc&) {
      // No memory to remember the batch: it is lost, which beats ending the program in a
      // destructor.
    }
  }

 private:
  static free_block_link* cut_chunk(std::size_t block_size) {
    auto* bytes = static_cast<std::byte*>(plain_allocate(chunk_size));
    free_block_link* list = nullptr;
    for (std::size_t offset = 0; offset + block_size <= chunk_size; offset += block_size) {
      list = new (bytes + offset) free_block_link{list};
    }
    return list;
  }

  std::mutex mutex_;
  std::array<std::vector<free_block_link*>, class_count> batches_;
};

central_list& central() {
  static auto* list = new central_list;
  return *list;
}

/// The free blocks of one thread: two lists a class, so that a thread that makes and frees around
/// a batch boundary does not go to the central list each time (Bonwick's magazines, USENIX 2001).
struct thread_cache {
  struct lists {
    free_block_link* active;
    free_block_link* reserve;  // empty, or a full batch
    std::size_t active_count;
  };
  std::array<lists, class_count> classes;
  bool ended;
};

constinit thread_local thread_cache cache{};

struct cache_returner {
  bool armed = false;
  ~cache_returner() {
    cache.ended = true;
    for (std::size_t size_class = 0; size_class < class_count; ++size_class) {
      auto& lists = cache.classes[size_class];
      if (lists.active != nullptr) central().give_batch(size_class, lists.active);
      if (lists.reserve != nullptr) central().give_batch(size_class, lists.reserve);
      lists = {};
    }
  }
};
thread_local cache_returner returner;

}  // namespace

void* allocate_block(std::size_t size) {
  if (RAY_PLAIN_BLOCKS || size > largest_pooled) return plain_allocate(size);
  auto& lists = cache.classes[class_of(size)];
  if (lists.active == nullptr) [[unlikely]] {
    if (lists.reserve != nullptr) {
      lists.active = std::exchange(lists.reserve, nullptr);
      lists.active_count = batch_size;
    } else {
      returner.armed = true;  // constructs it: from here on the thread has something to return
      lists.active = central().take_batch(class_of(size));
      lists.active_count = 0;  // a chunk may hold many batches; counting begins with the frees
    }
  }
  free_block_link* block = lists.active;
  lists.active = block->next;
  if (lists.active_count != 0) --lists.active_count;
  return block;
}

void free_block(void* block, std::size_t size) noexcept {
  if (RAY_PLAIN_BLOCKS || size > largest_pooled) return plain_free(block);
  const std::size_t size_class = class_of(size);
  if (cache.ended) [[unlikely]] {
    return central().give_batch(size_class, new (block) free_block_link{nullptr});
  }
  auto& lists = cache.classes[size_class];
  if (lists.active_count >= batch_size) [[unlikely]] {
    returner.armed = true;
    if (lists.reserve != nullptr) central().give_batch(size_class, lists.reserve);
    lists.reserve = std::exchange(lists.active, nullptr);
    lists.active_count = 0;
  }
  lists.active = new (block) free_block_link{lists.active};
  ++lists.active_count;
}

}  // namespace ray::detail
