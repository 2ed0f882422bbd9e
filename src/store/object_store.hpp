/// The object store of one process: which objects there are, how much memory they hold, and which
/// of them lie in spill files. Values stay where their owner constructed them, typed; beyond the
/// budget the least recently used that nothing pins are serialized to disk by the courier thread,
/// destroyed in place, and loaded there again when somebody pins them.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <ray/detail/base/value_operations.hpp>
#include <ray/id.hpp>
#include "store/entry.hpp"
#include "store/file_io.hpp"
#include "store/process_memory.hpp"
#include "store/record_writer.hpp"
#include "store/spill_files.hpp"

namespace ray::detail::store {

struct options {
  /// Bytes of heap that tracked values may hold before spilling begins.
  std::size_t memory_limit = 0;
  /// Empty: the system's temporary directory. Made when the first object is spilled.
  std::filesystem::path spill_directory = {};
  /// Has the courier thread call `relieve()` soon; called with no lock held, from any thread that
  /// uses the store, the courier included. Null: whoever needs room calls `relieve()` himself.
  void (*wake_courier)(void* context) = nullptr;
  void* context = nullptr;
};

struct statistics {
  std::size_t memory_limit = 0;
  std::size_t resident_bytes = 0;  // heap of values in memory, as counted against the limit
  std::size_t pinned_bytes = 0;    // of those, what cannot be spilled now
  std::size_t spilled_bytes = 0;   // heap that the values now on disk only would hold in memory
  std::size_t file_bytes = 0;      // of records in use; a restored object keeps its record
  std::size_t objects = 0;
  std::size_t spilled_objects = 0;
  std::size_t files = 0;
  std::uint64_t spills = 0;  // since the start
  std::uint64_t restores = 0;
};

/// Tracks objects and keeps what they hold within a budget. All functions may be called from any
/// thread at any time, but for `relieve`, whose caller is called the courier below.
///
/// Runs a value's functions without a lock that any other call needs, so a destructor may drop the
/// handles of other objects; and calls `wake_courier` without any.
class object_store {
 public:
  explicit object_store(options settings, const io_calls& calls = system_io);
  /// Removes the spill files, if `close` has not. Every entry must have been erased or released
  /// before; what is left is forgotten, its value not destroyed.
  ~object_store();

  object_store(const object_store&) = delete;
  object_store& operator=(const object_store&) = delete;

  /// Whether spilling the value could free anything. A value that holds nothing on the heap needs
  /// no entry: its storage belongs to the owner and stays.
  [[nodiscard]] static bool worth_tracking(const void* value, const value_operations& operations) {
    return operations.heap_size == nullptr || operations.heap_size(value) != 0;
  }

  /// Tracks the value constructed at `value`, in storage that stays for the life of the entry.
  ///
  /// Over the limit it blocks until the courier has made room, or has found that all else is
  /// pinned: then the store goes over. Throws `out_of_memory_error` when the value alone is larger
  /// than the limit, or when room is needed and spilling fails; then the value is not tracked and
  /// remains the caller's. The courier's own thread does not wait for itself: it makes the room, or
  /// within `relieve` goes over.
  [[nodiscard]] entry* insert(void* value, const value_operations& operations, object_id id);

  /// Makes the value resident and keeps it so until `unpin`. One atomic addition if it is in
  /// memory.
  ///
  /// Else it is read back on this thread, over the limit after waiting for room as `insert` does (a
  /// full disk does not keep what is stored from being read), while others who want it wait.
  /// Throws `object_lost_error` when file or record cannot be read or the deserializer throws, and
  /// `out_of_memory_error` when the allocator fails; the object is then as before, unpinned.
  void pin(entry& object) {
    // Acquire pairs with the release by which a restoring thread made the value resident. A state
    // below `in_memory` means that the value cannot be evicted any more: see `entry`.
    const std::uint64_t before = object.state_.fetch_add(entry::one_pin, std::memory_order_acquire);
    if (before >= entry::in_memory) [[unlikely]]
      pin_absent(object);
  }

  /// Gives a pin back; the object counts as used just now.
  void unpin(entry& object) noexcept {
    object.used_.store(moment(), std::memory_order_relaxed);
    // Release: this thread's reads of the value come before the courier destroys it. Sequentially
    // consistent together with `over_limit_`: either the courier, which sets the flag before it
    // looks at the pins, sees this one gone, or this thread sees the flag and wakes it.
    const std::uint64_t before = object.state_.fetch_sub(entry::one_pin, std::memory_order_seq_cst);
    if ((before & entry::pin_mask) == 1 && over_limit_.load(std::memory_order_seq_cst)) [[unlikely]]
      unpinned_over_limit();
  }

  /// The object is dead and nobody pins it: destroys the value if it is in memory, frees its place
  /// in a spill file, frees the entry. Waits for a spill of this object that is under way.
  void erase(entry* object) noexcept;

  /// Forgets an object whose value its owner takes over, without destroying it. The caller holds
  /// the only pin, which keeps the value in memory; it goes with the entry. Waits as `erase` does.
  void release(entry* object) noexcept;

  /// Makes room; the courier calls it whenever it was woken, and once when it starts: the first
  /// call removes what dead processes have left in the spill directory. Returns when nobody waits
  /// for room any more. What goes wrong is told to those who wait.
  void relieve() noexcept;

  /// Ends the store's dealings with courier and disk, for objects that outlive the session. The
  /// spill files go; what is in memory can be used and erased as before, what is spilled only
  /// erased. Who waits for room goes over; when this returns, `wake_courier` has been called for
  /// the last time.
  void close() noexcept;

  /// Counts; takes time in proportion to the number of objects.
  [[nodiscard]] statistics stats() const;

 private:
  static constexpr std::size_t shard_count = 16;

  /// The table of a part of the entries, so that threads that insert and erase seldom meet.
  struct alignas(64) shard {
    mutable std::mutex mutex;
    std::condition_variable settled;  // an entry's phase became `resident` or `spilled`
    std::vector<entry*> entries;
    /// During a pass of the courier erased entries leave a hole, so that the positions which the
    /// courier has noted stay good and never name another object.
    bool frozen = false;
  };
  /// An entry noted by the courier. It may be gone when its turn comes: `begin_saving` tells.
  struct candidate {
    std::uint64_t used;
    entry* object;
    std::size_t bytes;
    std::uint32_t index;
    std::uint8_t shard_index;
  };
  /// A saved object, which may be evicted once `mark` records are in their files.
  struct pending_eviction {
    entry* object;  // null: erased meanwhile
    std::uint64_t mark;
    std::uint64_t used;
  };
  enum class urgency { known, sampled };

  // Entries and their values (object_store.cpp).
  void link(entry& object);
  void detach(entry& object) noexcept;
  void await_settled(entry& object, std::unique_lock<std::mutex>& lock) noexcept;
  void settle(entry& object, entry::phase from, entry::phase to) noexcept;
  void pin_absent(entry& object);
  void restore(entry& object);
  void load(const entry& object);

  // The budget (budget.cpp).
  [[nodiscard]] std::size_t weight(const entry& object) const noexcept;
  [[nodiscard]] std::size_t pressure() const noexcept;
  void charge(const entry& object) noexcept;
  void refund(const entry& object) noexcept;
  [[nodiscard]] std::string await_room(urgency why);
  void request_relief() noexcept;
  void wake_courier(std::unique_lock<std::mutex>& lock) noexcept;
  void unpinned_over_limit() noexcept;
  void room_was_made() noexcept;
  [[nodiscard]] bool relieving_on_this_thread() const noexcept;

  // The courier's work (relief.cpp).
  [[nodiscard]] std::string run_pass() noexcept;
  void report(const std::string& failure) noexcept;
  void spill_down();
  void measure();
  void calibrate() noexcept;
  [[nodiscard]] static bool may_be_spilled(const entry& object) noexcept;
  [[nodiscard]] static bool is_unsized(const entry& object) noexcept;
  [[nodiscard]] static bool has_copy(const entry& object) noexcept;
  [[nodiscard]] std::vector<candidate> collect(bool (*wanted)(const entry&) noexcept) const;
  [[nodiscard]] bool begin_saving(const candidate& noted) noexcept;
  void spill(const candidate& noted);
  [[nodiscard]] bool write_record(entry& object);
  void evict_durable() noexcept;
  void evict(pending_eviction saved) noexcept;
  void drop_batch() noexcept;
  [[nodiscard]] bool discard_copies();
  void mark_unspillable(entry& object, const std::string& reason) noexcept;
  void set_frozen(bool frozen) noexcept;

  const options options_;
  const io_calls& calls_;
  std::array<shard, shard_count> shards_;

  // What is held now: exact sizes, and serialized sizes, which `overhead_` scales to what such
  // values take in memory. They only count, so relaxed operations do.
  static constexpr std::uint32_t overhead_unit = 256;
  alignas(64) std::atomic<std::size_t> exact_bytes_{0};
  std::atomic<std::size_t> counted_bytes_{0};
  std::atomic<std::uint32_t> overhead_{overhead_unit};
  std::atomic<std::size_t> unsized_objects_{0};
  std::atomic<std::size_t> spilled_bytes_{0};
  std::atomic<std::size_t> spilled_objects_{0};
  std::atomic<std::uint64_t> spills_{0};
  std::atomic<std::uint64_t> restores_{0};
  memory_sampler sampler_;

  // Who waits for room. Lock order: `pass_mutex_`, then a shard's or this one, never two of these.
  alignas(64) std::mutex relief_mutex_;
  std::condition_variable relieved_;
  std::uint64_t requested_ = 0;  // the last request for a pass
  std::uint64_t completed_ = 0;  // the last request that a finished pass has served
  std::string failure_;          // of the last finished pass; empty: none
  bool exhausted_ = false;       // the last finished pass found no more to spill
  bool awake_ = false;           // the courier has been woken and has not come to rest since
  bool closed_ = false;
  int waking_ = 0;  // calls of `wake_courier` under way
  std::atomic<int> waiting_{0};

  // The courier's own, under `pass_mutex_`.
  std::mutex pass_mutex_;
  std::atomic<std::thread::id> courier_{};    // who made the last pass
  std::atomic<std::thread::id> relieving_{};  // who is making one now
  spill_files files_;
  record_writer writer_;
  std::vector<pending_eviction> batch_;
  std::size_t batch_weight_ = 0;
  std::size_t freed_in_pieces_ = 0;
  bool swept_ = false;
  bool failing_ = false;

  /// A pass has left the store over its limit, or is at work: to unpin is news for the courier.
  alignas(64) std::atomic<bool> over_limit_{false};
};

}  // namespace ray::detail::store
