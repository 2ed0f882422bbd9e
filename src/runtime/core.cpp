#include "runtime/core.hpp"

#include "runtime/actor_core.hpp"
#include "runtime/exported_table.hpp"
#include "runtime/messages.hpp"
#include "runtime/object_hooks.hpp"
#include "runtime/stripes.hpp"

#include <ray/error.hpp>
#include <ray/log.hpp>

#include <algorithm>
#include <array>
#include <thread>

namespace ray::detail {

std::mutex& stripe_of(const void* address) noexcept {
  // Blocks are aligned to 64 bytes; a multiplicative hash (Knuth) spreads what remains.
  static std::array<std::mutex, 256> stripes;
  const auto number = reinterpret_cast<std::uintptr_t>(address) >> 6;
  return stripes[(number * 0x9e3779b97f4a7c15U) >> 56];
}

std::uint64_t next_id() noexcept {
  // A thread takes ids by the thousand, so that they are no point of contention.
  constexpr std::uint64_t batch = 1024;
  static std::atomic<std::uint64_t> next{1};
  constinit thread_local std::uint64_t first = 0;
  constinit thread_local std::uint64_t last = 0;
  if (first == last) {
    first = next.fetch_add(batch, std::memory_order_relaxed);
    last = first + batch;
  }
  return first++;
}

constinit std::atomic<bool> session_flag{false};

constinit std::atomic<core*> core::instance_{nullptr};

core& core::make() noexcept {
  static core* const one = [] {
    auto* made = new core;
    instance_.store(made, std::memory_order_release);
    return made;
  }();
  return *one;
}

std::uint64_t core::start(runtime::session_options given) {
  phase expected = phase::stopped;
  if (!phase_.compare_exchange_strong(expected, phase::starting)) {
    throw usage_error(
        "ray::init: a session runs already; use it, or end it with ray::shutdown() first");
  }
  try {
    options = std::move(given);
    set_log_level(options.verbosity);
    node = node_id{process_id_prefix(), next_id()};
    job = job_id{process_id_prefix(), next_id()};
    set_objects(std::make_shared<store::object_store>(
        store::options{.memory_limit = options.object_store_memory,
                       .spill_directory = options.spill_directory,
                       .wake_courier = [](void* self) { static_cast<courier*>(self)->wake(); },
                       .context = &messenger}));
    messenger.start(*objects_);
    const auto slots = options.num_cpus.units() / amount::units_per_one;
    has_tokens = slots > 0;
    const auto processors = std::max<std::int64_t>(1, std::thread::hardware_concurrency());
    pool.start(
        static_cast<std::size_t>(std::clamp<std::int64_t>(slots, 1, processors)),
        static_cast<std::size_t>(std::max<std::int64_t>(slots, 1)),
        {.token_returned =
             [](void* self) noexcept { static_cast<scheduling*>(self)->token_returned(); },
         .token_idle = [](void* self) noexcept { static_cast<scheduling*>(self)->token_idle(); },
         .work_came = [](void* self) noexcept { static_cast<scheduling*>(self)->work_came(); },
         .context = &scheduler});
    scheduler.start(options, node, job);
  } catch (...) {
    pool.stop();
    messenger.stop();
    phase_.store(phase::stopped);
    throw;
  }
  const std::uint64_t number = session_.fetch_add(1, std::memory_order_relaxed) + 1;
  phase_.store(phase::running, std::memory_order_release);
  interruptions.attention.fetch_sub(1, std::memory_order_relaxed);
  session_flag.store(true, std::memory_order_release);
  return number;
}

void core::stop(std::uint64_t number) noexcept {
  if (number != any_session && number != session_.load(std::memory_order_relaxed)) return;
  phase expected = phase::running;
  if (!phase_.compare_exchange_strong(expected, phase::stopping)) return;
  session_flag.store(false, std::memory_order_seq_cst);
  interruptions.attention.fetch_add(1, std::memory_order_relaxed);
  // Calls are refused from here on. What runs is asked to stop; what waits ends.
  interruptions.reach_all();
  const auto actors = scheduler.actors();
  for (actor_core* one : actors) one->end_session();
  const auto placed = scheduler.stop();
  clock.stop();
  for (int count = helpers_.load(); count != 0; count = helpers_.load()) helpers_.wait(count);
  pool.stop();
  for (actor_core* one : actors) {
    one->end_state();
    actor_core::release(one);  // the one of the list
  }
  for (actor_core* one : placed) actor_core::release(one);
  messenger.stop();
  clear_exported();
  objects_->close();
  set_objects(nullptr);
  phase_.store(phase::stopped, std::memory_order_release);
}

}  // namespace ray::detail
