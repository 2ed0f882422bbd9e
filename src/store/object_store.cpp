#include "store/object_store.hpp"

#include <ray/error.hpp>

#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <utility>

#include "store/messages.hpp"
#include "store/record_reader.hpp"

namespace ray::detail::store {

namespace {

/// Which table a thread inserts into: threads take turns, so that two seldom share one.
std::uint8_t shard_of_this_thread(std::size_t shards) noexcept {
  static std::atomic<unsigned> threads{0};
  static thread_local const unsigned mine = threads.fetch_add(1, std::memory_order_relaxed);
  return static_cast<std::uint8_t>(mine % shards);
}

}  // namespace

object_store::object_store(options settings, const io_calls& calls)
    : options_(std::move(settings)),
      calls_(calls),
      sampler_(options_.memory_limit),
      files_(options_.spill_directory),
      writer_(files_, calls_) {}

object_store::~object_store() {
  for (shard& part : shards_) {
    for (entry* left : part.entries) delete left;
  }
}

entry* object_store::insert(void* value, const value_operations& operations, object_id id) {
  auto object = std::make_unique<entry>(value, operations, id);
  if (operations.heap_size != nullptr) {
    object->size_ = operations.heap_size(value);
    object->sized_ = true;
    const std::size_t whole = object->size_ + operations.size;
    if (whole > options_.memory_limit) {
      throw out_of_memory_error(too_large(id, operations, whole, options_.memory_limit));
    }
  }
  charge(*object);
  try {
    std::string failure;
    if (pressure() > options_.memory_limit) {
      failure = await_room(urgency::known);
    } else if (!object->sized_ && sampler_.shows_shortage()) {
      failure = await_room(urgency::sampled);
    }
    if (!failure.empty()) {
      throw out_of_memory_error(no_room(id, operations, options_.memory_limit, failure));
    }
    // Only now can the courier find it: until here the value could not be given back unspilled.
    link(*object);
  } catch (...) {
    refund(*object);
    throw;
  }
  entry* const tracked = object.release();
  if (pressure() > options_.memory_limit) [[unlikely]]
    request_relief();
  return tracked;
}

void object_store::erase(entry* object) noexcept {
  detach(*object);
  const bool spilled = object->current_phase() == entry::spilled;
  if (spilled) {
    spilled_bytes_.fetch_sub(object->size_, std::memory_order_relaxed);
    spilled_objects_.fetch_sub(1, std::memory_order_relaxed);
  } else {
    object->operations_->destroy(object->value_);
    refund(*object);
    room_was_made();
  }
  if (!object->record_.empty()) files_.discard(object->record_);
  delete object;
}

void object_store::release(entry* object) noexcept {
  detach(*object);
  refund(*object);
  room_was_made();
  if (!object->record_.empty()) files_.discard(object->record_);
  delete object;
}

void object_store::link(entry& object) {
  object.shard_ = shard_of_this_thread(shard_count);
  shard& part = shards_[object.shard_];
  const std::lock_guard lock(part.mutex);
  part.entries.push_back(&object);
  object.index_ = static_cast<std::uint32_t>(part.entries.size() - 1);
}

/// Takes the entry out of its table, once the courier and restoring threads have let go of it.
void object_store::detach(entry& object) noexcept {
  shard& part = shards_[object.shard_];
  std::unique_lock lock(part.mutex);
  if (object.current_phase() == entry::saving && relieving_on_this_thread()) {
    // The courier destroys a value that held the last handle of this one, which it has saved in the
    // same batch. To wait would be to wait for itself; it skips the empty slot.
    const std::uint32_t slot = object.batch_slot_;
    if (slot < batch_.size() && batch_[slot].object == &object) batch_[slot].object = nullptr;
  } else {
    await_settled(object, lock);
  }
  if (part.frozen) {
    part.entries[object.index_] = nullptr;
    return;
  }
  part.entries[object.index_] = part.entries.back();
  part.entries[object.index_]->index_ = object.index_;
  part.entries.pop_back();
}

void object_store::await_settled(entry& object, std::unique_lock<std::mutex>& lock) noexcept {
  shards_[object.shard_].settled.wait(lock, [&object] {
    const entry::phase now = object.current_phase();
    return now == entry::resident || now == entry::spilled;
  });
}

/// The end of what the owner of the phase `from` did. The entry may be gone on return.
void object_store::settle(entry& object, entry::phase from, entry::phase to) noexcept {
  shard& part = shards_[object.shard_];
  {
    const std::lock_guard lock(part.mutex);
    object.move_phase(from, to);
  }
  part.settled.notify_all();
}

/// The slow half of `pin`: the pin is counted, and the value was not in memory a moment ago.
void object_store::pin_absent(entry& object) {
  shard& part = shards_[object.shard_];
  {
    std::unique_lock lock(part.mutex);
    // An eviction that was under way ends, or another thread's restore: then the value is held.
    part.settled.wait(lock, [&object] {
      const entry::phase now = object.current_phase();
      return now != entry::evicting && now != entry::restoring;
    });
    if (object.current_phase() != entry::spilled) return;
    object.move_phase(entry::spilled, entry::restoring);
  }
  try {
    restore(object);
  } catch (...) {
    // The pin goes first: the entry may be erased as soon as it is settled.
    object.state_.fetch_sub(entry::one_pin, std::memory_order_release);
    settle(object, entry::restoring, entry::spilled);
    throw;
  }
  settle(object, entry::restoring, entry::resident);
}

void object_store::restore(entry& object) {
  charge(object);
  try {
    // What is stored stays readable on a full disk: then the store goes over its limit.
    if (pressure() > options_.memory_limit) (void)await_room(urgency::known);
    load(object);
  } catch (...) {
    refund(object);
    room_was_made();
    throw;
  }
  spilled_bytes_.fetch_sub(object.size_, std::memory_order_relaxed);
  spilled_objects_.fetch_sub(1, std::memory_order_relaxed);
  restores_.fetch_add(1, std::memory_order_relaxed);
}

/// Constructs the value from its record, or throws one of `ray::error` and constructs nothing.
void object_store::load(const entry& object) {
  const object_id id = object.id_;
  const value_operations& operations = *object.operations_;
  std::optional<record_reader> reader;
  bool constructed = false;
  std::string reason;
  try {
    reader.emplace(files_, calls_, object.record_, id);
    operations.load(object.value_, *reader);
    constructed = true;
    if (!reader->failure() && reader->remaining() == 0) return;
    reason = std::to_string(reader->remaining()) + " bytes of the value were not read";
  } catch (const spill_failure& failed) {
    if (!reader) throw object_lost_error(unreadable(id, operations, failed.what()));
    reason = failed.what();
  } catch (const std::bad_alloc&) {
    if (!reader || !reader->failure()) {
      throw out_of_memory_error(no_memory(id, operations, object.size_));
    }
  } catch (const std::exception& failed) {
    reason = failed.what();
  } catch (...) {
    reason = "an exception that is no std::exception";
  }
  if (constructed) operations.destroy(object.value_);
  // What is wrong with the file explains whatever the deserializer made of it.
  if (reader->failure()) {
    throw object_lost_error(unreadable(id, operations, *reader->failure()));
  }
  throw object_lost_error(not_loadable(id, operations, reason));
}

statistics object_store::stats() const {
  statistics now;
  now.memory_limit = options_.memory_limit;
  now.resident_bytes = pressure();
  now.spilled_bytes = spilled_bytes_.load(std::memory_order_relaxed);
  now.spilled_objects = spilled_objects_.load(std::memory_order_relaxed);
  now.spills = spills_.load(std::memory_order_relaxed);
  now.restores = restores_.load(std::memory_order_relaxed);
  now.file_bytes = static_cast<std::size_t>(files_.live_bytes());
  now.files = files_.count();
  for (const shard& part : shards_) {
    const std::lock_guard lock(part.mutex);
    for (const entry* object : part.entries) {
      if (object == nullptr) continue;
      ++now.objects;
      const bool in_memory = object->current_phase() <= entry::saving;
      if (in_memory && (object->unspillable_ || object->pins() != 0)) {
        now.pinned_bytes += weight(*object);
      }
    }
  }
  return now;
}

}  // namespace ray::detail::store
