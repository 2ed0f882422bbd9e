#include "exec/pool.hpp"

#include "base/parker.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <latch>
#include <memory>
#include <thread>
#include <vector>

using namespace ray::detail::exec;

namespace {

/// A job that runs a function object of the test.
template <typename Function>
struct call final : job {
  explicit call(Function function) : job(run), body(std::move(function)) {}
  static void run(job* item) noexcept { static_cast<call*>(item)->body(); }
  Function body;
};

/// A pool with as many tokens as threads, stopped at the end of the test.
struct running_pool {
  explicit running_pool(std::size_t threads, std::size_t most = 0) {
    one.start(threads, std::max(threads, most), {});
    one.deposit(static_cast<std::int64_t>(std::max(threads, most)));
  }
  ~running_pool() { one.stop(); }
  pool one;
};

}  // namespace

TEST_CASE("jobs pushed from outside run") {
  running_pool pool(2);
  constexpr int count = 10'000;
  std::latch done(count);
  call job([&] { done.count_down(); });
  for (int i = 0; i < count; ++i) pool.one.push(&job);
  done.wait();
}

TEST_CASE("jobs pushed by jobs run, on the other thread too") {
  running_pool pool(2);
  // Each waits for the other, so both threads must take part.
  std::latch both(2);
  std::latch done(2);
  call inner([&] {
    both.arrive_and_wait();
    done.count_down();
  });
  call outer([&] {
    pool.one.push(&inner);
    both.arrive_and_wait();
    done.count_down();
  });
  pool.one.push(&outer);
  done.wait();
}

TEST_CASE("a thread that blocks lends its token") {
  running_pool pool(1);
  std::latch inner_ran(1);
  std::latch done(1);
  call inner([&] { inner_ran.count_down(); });
  call outer([&] {
    pool.one.push(&inner);
    const blocking_region region;
    inner_ran.wait();
    done.count_down();
  });
  pool.one.push(&outer);
  done.wait();
}

TEST_CASE("free jobs run beside a job that holds the only token") {
  running_pool pool(1);
  std::latch free_ran(1);
  std::latch done(1);
  call free([&] { free_ran.count_down(); });
  call outer([&] {
    pool.one.push_free(&free);
    free_ran.wait();  // holds the token all the while: the monitor adds a thread
    done.count_down();
  });
  pool.one.push(&outer);
  done.wait();
}

TEST_CASE("a free job that blocks keeps no token job from running") {
  running_pool pool(1);
  std::latch token_ran(1);
  std::latch done(1);
  call token([&] { token_ran.count_down(); });
  call free([&] {
    pool.one.push(&token);
    token_ran.wait();
    done.count_down();
  });
  pool.one.push_free(&free);
  done.wait();
}

TEST_CASE("many free jobs that wait for each other all run") {
  running_pool pool(1);
  constexpr int count = 16;
  std::latch all(count);
  std::latch done(count);
  call free([&] {
    all.arrive_and_wait();
    done.count_down();
  });
  for (int i = 0; i < count; ++i) pool.one.push_free(&free);
  done.wait();
}

TEST_CASE("more tokens than first threads start more threads") {
  running_pool pool(1, 4);
  std::latch all(4);
  std::latch done(4);
  call job([&] {
    all.arrive_and_wait();
    done.count_down();
  });
  for (int i = 0; i < 4; ++i) pool.one.push(&job);
  done.wait();
}

TEST_CASE("idle tokens are withdrawn at once, others come back when their job ends") {
  struct returned {
    std::latch one{1};
  } back;
  pool workers;
  workers.start(
      1, 1,
      {.token_returned =
           [](void* context) noexcept { static_cast<returned*>(context)->one.count_down(); },
       .context = &back});
  workers.deposit(1);
  std::latch begun(1);
  std::latch let_go(1);
  call job([&] {
    begun.count_down();
    let_go.wait();
  });
  workers.push(&job);
  begun.wait();
  CHECK(workers.withdraw_idle(1) == 0);
  CHECK(workers.ask_back(1) == 0);
  let_go.count_down();
  back.one.wait();
  // Without a token nothing runs; with one again it does.
  std::latch ran(1);
  call later([&] { ran.count_down(); });
  workers.push(&later);
  CHECK(workers.idle_tokens() == 0);
  workers.deposit(1);
  ran.wait();
  workers.stop();
}

TEST_CASE("a token that is wanted if idle is offered when its thread finds no more work") {
  struct offers {
    pool workers;
    std::atomic<std::int64_t> taken{0};
    std::latch one{1};
  } all;
  all.workers.start(1, 1,
                    {.token_idle =
                         [](void* context) noexcept {
                           auto* self = static_cast<offers*>(context);
                           if (self->workers.withdraw_idle(1) == 0) return;
                           self->workers.want_idle(0);
                           self->taken += 1;
                           self->one.count_down();
                         },
                     .context = &all});
  all.workers.deposit(1);
  std::latch begun(1);
  std::latch let_go(1);
  call job([&] {
    begun.count_down();
    let_go.wait();
  });
  all.workers.push(&job);
  begun.wait();
  all.workers.want_idle(1);
  CHECK(all.workers.withdraw_idle(1) == 0);
  let_go.count_down();
  all.one.wait();
  CHECK(all.taken == 1);
  all.workers.stop();
}

TEST_CASE("a lendable token is taken away when it is asked back") {
  struct returned {
    std::latch one{1};
  } back;
  pool workers;
  workers.start(
      1, 1,
      {.token_returned =
           [](void* context) noexcept { static_cast<returned*>(context)->one.count_down(); },
       .context = &back});
  workers.deposit(1);
  std::latch let_go(1);
  std::latch begun(1);
  call job([&] {
    begun.count_down();
    let_go.wait();
  });
  workers.push_free(&job);
  begun.wait();
  CHECK(workers.ask_back(1) == 0);
  back.one.wait();  // while the free job still runs
  let_go.count_down();
  workers.stop();
}

TEST_CASE("tokens that come while some are asked back are the owner's again") {
  pool workers;
  workers.start(1, 1, {});
  workers.deposit(1);
  std::latch begun(1);
  std::latch let_go(1);
  call job([&] {
    begun.count_down();
    let_go.wait();
  });
  workers.push(&job);
  begun.wait();
  CHECK(workers.ask_back(1) == 0);
  CHECK(workers.deposit(2) == 1);
  CHECK(workers.withdraw_idle(2) == 1);
  let_go.count_down();
  workers.stop();
}

TEST_CASE("a wake-up left over from a job's wait does not confuse its thread") {
  pool workers;
  workers.start(1, 1, {});
  workers.deposit(1);
  for (int i = 0; i < 100; ++i) {
    std::latch done(1);
    std::thread::id where;
    call job([&] {
      ray::detail::exec::this_thread().parker.unpark();
      where = std::this_thread::get_id();
      done.count_down();
    });
    workers.push(&job);
    done.wait();
    CHECK(where != std::this_thread::get_id());
  }
  workers.stop();
}

TEST_CASE("stop executes what is queued, and a pool starts again") {
  pool workers;
  std::atomic<int> ran{0};
  call job([&] { ++ran; });
  workers.start(1, 1, {});  // no token: nothing runs
  for (int i = 0; i < 10; ++i) workers.push(&job);
  workers.stop();
  CHECK(ran == 10);
  workers.push(&job);  // stopped: the pusher executes it
  CHECK(ran == 11);
  workers.start(1, 1, {});
  workers.deposit(1);
  std::latch done(1);
  call last([&] { done.count_down(); });
  workers.push(&last);
  done.wait();
  workers.stop();
}

TEST_CASE("a parker keeps a permit that came first") {
  ray::detail::parker one;
  one.unpark();
  one.unpark();
  one.park();
  CHECK_FALSE(one.park_until(std::chrono::steady_clock::now()));
  std::thread other([&] { one.unpark(); });
  one.park();
  other.join();
}
