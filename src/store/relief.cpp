/// What the courier does: looks how large the values are that nobody has measured, takes the least
/// recently used that nothing pins, writes them to spill files, and destroys each once its bytes
/// are in the file.
#include <algorithm>
#include <exception>
#include <new>
#include <optional>
#include <utility>

#include <ray/log.hpp>

#include "store/messages.hpp"
#include "store/object_store.hpp"

namespace ray::detail::store {

namespace {

/// Counts what a serializer writes.
class counting_sink final : public byte_sink {
 public:
  void write(std::span<const std::byte> bytes) override { count_ += bytes.size(); }
  [[nodiscard]] std::size_t count() const noexcept { return count_; }

 private:
  std::size_t count_ = 0;
};

/// A copy of `text`, or what needs no allocation.
std::string held(const char* text) noexcept {
  try {
    return text;
  } catch (const std::bad_alloc&) {
    return "out of memory";
  }
}

/// What the exception being handled says.
std::string current_reason() noexcept {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return held("out of memory");
  } catch (const std::exception& thrown) {
    return held(thrown.what());
  } catch (...) {
    return held("an exception that is no std::exception");
  }
}

/// Whether the exception being handled is `std::bad_alloc`.
bool out_of_memory() noexcept {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return true;
  } catch (...) {
    return false;
  }
}

/// Larger values come from the system and go back to it when freed; only what was carved out of the
/// heap may stay with the allocator. It is glibc's largest threshold between the two.
constexpr std::size_t mapped_alone = std::size_t{32} << 20;
/// Takes long enough to write that others should not wait for it.
constexpr std::size_t large_object = std::size_t{1} << 20;
/// As much as this freed in smaller pieces is worth a walk over the heap.
constexpr std::size_t worth_trimming = std::size_t{32} << 20;

}  // namespace

void object_store::relieve() noexcept {
  const std::lock_guard pass(pass_mutex_);
  const std::thread::id me = std::this_thread::get_id();
  courier_.store(me);
  relieving_.store(me);
  if (!std::exchange(swept_, true)) files_.remove_leftovers();
  for (bool first = true;; first = false) {
    std::uint64_t ticket = 0;
    {
      const std::lock_guard lock(relief_mutex_);
      if (closed_ || (!first && completed_ == requested_)) {
        awake_ = false;
        break;
      }
      ticket = requested_;
    }
    std::string failure = run_pass();
    report(failure);
    {
      const std::lock_guard lock(relief_mutex_);
      completed_ = ticket;
      exhausted_ = failure.empty() && pressure() > options_.memory_limit;
      failure_ = std::move(failure);
    }
    relieved_.notify_all();
  }
  writer_.rest();
  relieving_.store({});
}

/// One line in the log when spilling begins to fail: not every pass has somebody who waits for it.
void object_store::report(const std::string& failure) noexcept {
  if (!failure.empty() && !failing_) {
    try {
      log(log_level::warning, cannot_spill(options_.memory_limit, failure));
    } catch (const std::bad_alloc&) {
      // Those who wait are told; that needs no memory.
    }
  }
  failing_ = !failure.empty();
}

/// Returns why spilling failed, or nothing: then the store is below its limit, or all that is left
/// is pinned.
std::string object_store::run_pass() noexcept {
  std::string failure;
  freed_in_pieces_ = 0;
  try {
    if (unsized_objects_.load(std::memory_order_relaxed) != 0 &&
        (pressure() > options_.memory_limit || sampler_.growth() > options_.memory_limit)) {
      measure();
    }
    if (pressure() > options_.memory_limit) {
      try {
        spill_down();
      } catch (const spill_failure&) {
        // Perhaps the disk is full, and holds what lies in memory too.
        drop_batch();
        if (!discard_copies()) throw;
        spill_down();
      }
    }
  } catch (...) {
    failure = current_reason();
  }
  if (!failure.empty()) drop_batch();
  set_frozen(false);
  if (freed_in_pieces_ >= worth_trimming) trim_heap();
  sampler_.settle();
  // While spilling fails, an unpin changes nothing; the next insertion tries again.
  if (!failure.empty() || pressure() <= options_.memory_limit) {
    over_limit_.store(false, std::memory_order_seq_cst);
  }
  return failure;
}

/// Spills the least recently used until the store is well below its limit, so that not every
/// insertion needs a pass.
void object_store::spill_down() {
  const std::size_t target = options_.memory_limit - options_.memory_limit / 5;
  // Before anyone's pins are looked at: see `unpin`.
  over_limit_.store(true, std::memory_order_seq_cst);
  set_frozen(true);
  const auto later = [](const candidate& left, const candidate& right) {
    return left.used > right.used;
  };
  std::uint64_t before = 0;
  do {
    before = spills_.load(std::memory_order_relaxed);
    // A heap: a million objects may be tracked where a few need to go.
    std::vector<candidate> oldest = collect(&object_store::may_be_spilled);
    std::make_heap(oldest.begin(), oldest.end(), later);
    while (!oldest.empty() && pressure() > target + batch_weight_) {
      std::pop_heap(oldest.begin(), oldest.end(), later);
      spill(oldest.back());
      oldest.pop_back();
    }
    writer_.flush();
    evict_durable();
    // A round that evicts nothing, because all is pinned or in steady use, is the last.
  } while (pressure() > options_.memory_limit && spills_.load(std::memory_order_relaxed) != before);
}

/// Serializes the values whose size nobody knows into a counter, pinned ones too: reading is safe.
void object_store::measure() {
  set_frozen(true);
  for (const candidate& noted : collect(&object_store::is_unsized)) {
    if (!begin_saving(noted)) continue;
    entry& object = *noted.object;
    counting_sink sink;
    std::optional<std::string> failed;
    try {
      object.operations_->save(object.value_, sink);
    } catch (const std::bad_alloc&) {
      settle(object, entry::saving, entry::resident);
      continue;  // it may be luckier in the next pass
    } catch (...) {
      failed = current_reason();
    }
    {
      const std::lock_guard lock(shards_[object.shard_].mutex);
      refund(object);
      object.size_ = failed ? 0 : sink.count();
      object.sized_ = true;
      charge(object);
    }
    if (failed) mark_unspillable(object, *failed);
    settle(object, entry::saving, entry::resident);
  }
  calibrate();
}

/// Values made of many small pieces (maps, lists) take several times their serialized size in
/// memory. How many times is read off the growth of the process, bounded, since the program has
/// memory of its own too.
void object_store::calibrate() noexcept {
  const std::size_t counted = counted_bytes_.load(std::memory_order_relaxed);
  if (counted == 0 || counted < options_.memory_limit / 64) return;
  const std::size_t exact = exact_bytes_.load(std::memory_order_relaxed);
  const std::size_t grown = sampler_.growth();
  const std::size_t theirs = grown > exact ? grown - exact : 0;
  const double times = static_cast<double>(theirs) / static_cast<double>(counted);
  overhead_.store(static_cast<std::uint32_t>(std::clamp(times, 1.0, 8.0) * overhead_unit),
                  std::memory_order_relaxed);
}

bool object_store::may_be_spilled(const entry& object) noexcept {
  return object.sized_ && object.size_ != 0 && !object.unspillable_ &&
         object.state_.load(std::memory_order_seq_cst) == entry::resident;
}

bool object_store::is_unsized(const entry& object) noexcept {
  return !object.sized_ && object.current_phase() == entry::resident;
}

bool object_store::has_copy(const entry& object) noexcept {
  return !object.record_.empty() && object.current_phase() == entry::resident;
}

std::vector<object_store::candidate> object_store::collect(
    bool (*wanted)(const entry&) noexcept) const {
  std::vector<candidate> found;
  for (const shard& part : shards_) {
    const std::lock_guard lock(part.mutex);
    for (const entry* object : part.entries) {
      if (object == nullptr || !wanted(*object)) continue;
      found.push_back({object->used_.load(std::memory_order_relaxed), const_cast<entry*>(object),
                       object->size_, object->index_, object->shard_});
    }
  }
  return found;
}

/// Takes the phase of an object noted earlier. False if it is gone, or no longer in memory.
bool object_store::begin_saving(const candidate& noted) noexcept {
  shard& part = shards_[noted.shard_index];
  const std::lock_guard lock(part.mutex);
  // Tables are frozen: the position still holds the object, or nothing.
  if (part.entries[noted.index] != noted.object) return false;
  if (noted.object->current_phase() != entry::resident) return false;
  noted.object->move_phase(entry::resident, entry::saving);
  return true;
}

/// Writes the object's record, if it has none, and has it evicted as soon as that is in the file.
/// Throws when the disk is at fault, so that no object could be spilled.
void object_store::spill(const candidate& noted) {
  // Nobody who erases a small object shall wait for a large one to be written.
  if (noted.bytes >= large_object && !batch_.empty()) {
    writer_.flush();
    evict_durable();
  }
  // What can throw comes before the phase is taken.
  if (batch_.size() == batch_.capacity()) batch_.reserve(2 * batch_.size() + 64);
  if (!begin_saving(noted)) return;
  entry& object = *noted.object;
  if (object.pins() != 0 || object.used_.load(std::memory_order_relaxed) != noted.used) {
    settle(object, entry::saving, entry::resident);
    return;
  }
  if (object.record_.empty() && !write_record(object)) return;
  object.batch_slot_ = static_cast<std::uint32_t>(batch_.size());
  batch_.push_back({&object, writer_.finished(), noted.used});
  batch_weight_ += weight(object);
  evict_durable();
}

/// Settles the object and returns false when that is at fault; throws when the disk is.
bool object_store::write_record(entry& object) {
  try {
    writer_.begin(object.id_, object.size_);
    object.operations_->save(object.value_, writer_);
    object.record_ = writer_.finish();
    return true;
  } catch (...) {
    // Whatever a serializer makes of a failed write, the writer knows better whose fault it is.
    if (writer_.failure()) {
      settle(object, entry::saving, entry::resident);
      throw spill_failure(*writer_.failure());
    }
    writer_.abandon();
    // Out of memory it may be luckier in the next pass.
    if (!out_of_memory()) mark_unspillable(object, current_reason());
    settle(object, entry::saving, entry::resident);
    return false;
  }
}

/// Evicts what of the batch is in the file by now.
void object_store::evict_durable() noexcept {
  const std::uint64_t durable = writer_.durable();
  if (batch_.empty() || batch_.front().mark > durable) return;
  std::size_t done = 0;
  // By index and by copy: destroying one value may erase another object of the batch.
  for (; done < batch_.size() && batch_[done].mark <= durable; ++done) {
    if (batch_[done].object != nullptr) evict(batch_[done]);
  }
  batch_.erase(batch_.begin(), batch_.begin() + static_cast<std::ptrdiff_t>(done));
  batch_weight_ = 0;
  for (std::size_t slot = 0; slot < batch_.size(); ++slot) {
    entry* const waiting = batch_[slot].object;
    if (waiting == nullptr) continue;
    waiting->batch_slot_ = static_cast<std::uint32_t>(slot);
    batch_weight_ += weight(*waiting);
  }
}

/// Destroys a value whose record is in the file, unless somebody has used it meanwhile; then it
/// stays, and with it the record, for next time.
void object_store::evict(pending_eviction saved) noexcept {
  entry& object = *saved.object;
  if (object.used_.load(std::memory_order_relaxed) != saved.used ||
      !object.move_phase_unpinned(entry::saving, entry::evicting)) {
    settle(object, entry::saving, entry::resident);
    return;
  }
  object.operations_->destroy(object.value_);
  refund(object);
  if (object.size_ < mapped_alone) freed_in_pieces_ += object.size_;
  spilled_bytes_.fetch_add(object.size_, std::memory_order_relaxed);
  spilled_objects_.fetch_add(1, std::memory_order_relaxed);
  spills_.fetch_add(1, std::memory_order_relaxed);
  settle(object, entry::evicting, entry::spilled);
  room_was_made();
}

/// After a failure: what is in the file is evicted, the rest is as if nothing had happened.
void object_store::drop_batch() noexcept {
  evict_durable();
  writer_.reset();
  for (const pending_eviction& lost : std::exchange(batch_, {})) {
    if (lost.object == nullptr) continue;
    files_.discard(std::exchange(lost.object->record_, {}));
    settle(*lost.object, entry::saving, entry::resident);
  }
  batch_weight_ = 0;
}

/// Gives the disk back what it holds of objects that are in memory. True if there was anything.
bool object_store::discard_copies() {
  bool any = false;
  for (const candidate& noted : collect(&object_store::has_copy)) {
    if (!begin_saving(noted)) continue;
    files_.discard(std::exchange(noted.object->record_, {}));
    settle(*noted.object, entry::saving, entry::resident);
    any = true;
  }
  return any;
}

void object_store::mark_unspillable(entry& object, const std::string& reason) noexcept {
  {
    const std::lock_guard lock(shards_[object.shard_].mutex);
    object.unspillable_ = true;
  }
  try {
    log(log_level::warning, not_spillable(object.id_, *object.operations_, reason));
  } catch (const std::bad_alloc&) {
    // The object is none the worse for it.
  }
}

/// See `shard::frozen`. Thawing closes the holes.
void object_store::set_frozen(bool frozen) noexcept {
  for (shard& part : shards_) {
    const std::lock_guard lock(part.mutex);
    if (std::exchange(part.frozen, frozen) == frozen || frozen) continue;
    std::erase(part.entries, nullptr);
    for (std::size_t index = 0; index < part.entries.size(); ++index) {
      part.entries[index]->index_ = static_cast<std::uint32_t>(index);
    }
  }
}

}  // namespace ray::detail::store
