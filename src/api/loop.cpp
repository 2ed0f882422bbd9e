#include <ray/detail/api/loop.hpp>

#include "exec/pool.hpp"
#include "runtime/ancestry.hpp"
#include "runtime/blocking.hpp"
#include "runtime/core.hpp"

#include <ray/future.hpp>
#include <ray/remote.hpp>

#include <algorithm>
#include <atomic>
#include <exception>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace ray::detail {
namespace {

/// A loop under way. Helpers share it, so they may come at any time: after the end they find no
/// chunk left. A helper's future can end before its function has returned (cancelled, the session
/// over), so the caller counts who works.
struct loop_state {
  std::size_t size;
  std::size_t grain;
  void (*body)(void*, std::size_t, std::size_t);
  void* context;
  // The next index that nobody has taken, and who works. Sequentially consistent: who counts
  // himself after the caller has seen nobody finds `next` at the end, and leaves `context` alone.
  std::atomic<std::size_t> next{0};
  std::atomic<int> working{0};
  std::mutex mutex;
  std::exception_ptr error;  // the first

  void work() noexcept {
    working.fetch_add(1);
    while (true) {
      const std::size_t begin = next.fetch_add(grain);
      if (begin >= size) break;
      try {
        if (core::get().interruptions.attention.load(std::memory_order_relaxed) != 0) [[unlikely]] {
          if (current_task != nullptr) end_if_cancelled(current_task);
          throw_if_interrupted();
        }
        body(context, begin, std::min(size - begin, grain) + begin);
      } catch (...) {
        stop(std::current_exception());
      }
    }
    if (working.fetch_sub(1) == 1) working.notify_all();
  }

  void stop(std::exception_ptr why) noexcept {
    next.store(size);
    const std::lock_guard lock(mutex);
    if (error == nullptr) error = std::move(why);
  }

  void await_helpers() noexcept {
    next.store(size);
    if (working.load() == 0) return;
    const exec::blocking_region region;
    for (int count = working.load(); count != 0; count = working.load()) working.wait(count);
  }
};

/// The body of a helper's task. It never leaves the process.
class helper_body {
 public:
  explicit helper_body(std::shared_ptr<loop_state> loop) : loop_(std::move(loop)) {}
  void operator()() { loop_->work(); }
  [[nodiscard]] static object* pending() noexcept { return nullptr; }
  static void await_arguments(ray::detail::task*) noexcept {}
  static std::string name() { return "parallel_for"; }
  using of_the_library = void;

 private:
  std::shared_ptr<loop_state> loop_;
};

}  // namespace

void run_chunks(std::size_t size, std::size_t grain, void (*body)(void*, std::size_t, std::size_t),
                void* context) {
  require_session();
  if (size == 0) return;
  const auto loop = std::make_shared<loop_state>();
  loop->size = size;
  loop->grain = std::min(grain, size);
  loop->body = body;
  loop->context = context;
  const auto slots = static_cast<std::size_t>(
      std::max<std::int64_t>(1, core::get().options.num_cpus.units() / amount::units_per_one));
  const std::size_t chunks = loop_shape(size, grain).chunks();
  std::vector<future<void>> helpers;
  const std::size_t own = current_task != nullptr ? 1 : 0;
  try {
    for (std::size_t i = own; i < std::min(slots, chunks); ++i) {
      helpers.push_back(submit_body<helper_body>(nothing_to_prepare(), loop));
    }
  } catch (...) {
    loop->stop(std::current_exception());
  }
  // A task goes on under its own slot; another thread works when there is a free one, which a get
  // of an unbegun helper finds out.
  if (current_task != nullptr) loop->work();
  try {
    for (const auto& one : helpers) one.wait();
  } catch (...) {  // this task was cancelled, or the session ends
    loop->stop(std::current_exception());
  }
  loop->await_helpers();
  const std::lock_guard lock(loop->mutex);
  if (loop->error != nullptr) std::rethrow_exception(loop->error);
}

}  // namespace ray::detail
