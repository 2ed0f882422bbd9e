#include <ray/detail/api/loop.hpp>

#include "runtime/core.hpp"

#include <ray/future.hpp>
#include <ray/remote.hpp>

#include <algorithm>
#include <atomic>
#include <exception>
#include <memory>
#include <mutex>
#include <vector>

namespace ray::detail {
namespace {

/// A loop under way. Helpers that begin after the end find no chunk left; they share the state, so
/// they may come at any time.
struct loop_state {
  std::size_t size;
  std::size_t grain;
  void (*body)(void*, std::size_t, std::size_t);
  void* context;
  // The next index that nobody has taken. Relaxed: it only deals out numbers; the futures of the
  // helpers order what the body wrote before the caller's return.
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  std::exception_ptr error;  // the first

  void work() noexcept {
    while (true) {
      const std::size_t begin = next.fetch_add(grain, std::memory_order_relaxed);
      if (begin >= size) return;
      try {
        body(context, begin, std::min(size - begin, grain) + begin);
      } catch (...) {
        next.store(size, std::memory_order_relaxed);
        const std::lock_guard lock(mutex);
        if (error == nullptr) error = std::current_exception();
      }
    }
  }
};

/// The body of a helper's task. It never leaves the process.
class helper_body {
 public:
  explicit helper_body(loop_state& loop) : loop_(&loop) {}
  void operator()() { loop_->work(); }
  [[nodiscard]] static object* pending() noexcept { return nullptr; }
  static void await_arguments(ray::detail::task*) noexcept {}
  static std::string name() { return "parallel_for"; }

 private:
  loop_state* loop_;
};

}  // namespace

void run_chunks(std::size_t size, std::size_t grain, void (*body)(void*, std::size_t, std::size_t),
                void* context) {
  require_session();
  if (size == 0) return;
  loop_state loop{size, grain, body, context, {0}, {}, {}};
  const auto slots = static_cast<std::size_t>(
      std::max<std::int64_t>(1, core::get().options.num_cpus.units() / amount::units_per_one));
  const std::size_t chunks = (size + grain - 1) / grain;
  std::vector<future<void>> helpers;
  const std::size_t own = current_task != nullptr ? 1 : 0;
  for (std::size_t i = own; i < std::min(slots, chunks); ++i) {
    helpers.push_back(submit_body<helper_body>(nothing_to_prepare(), loop));
  }
  // A task goes on under its own slot; another thread works when there is a free one, which a get
  // of an unbegun helper finds out.
  if (current_task != nullptr) loop.work();
  for (const auto& one : helpers) {
    // Not a plain get: the loop's state must outlive all helpers, whatever happens.
    while (!one.ready()) {
      try {
        one.wait();
      } catch (...) {
        loop.next.store(size, std::memory_order_relaxed);
        const std::lock_guard lock(loop.mutex);
        if (loop.error == nullptr) loop.error = std::current_exception();
        cancel(one);
      }
    }
  }
  if (loop.error != nullptr) std::rethrow_exception(loop.error);
}

}  // namespace ray::detail
