// links: CAF::core
/// What does a call of an actor cost: one at a time, many under way, and among many actors?
///
/// The peer is CAF, the C++ Actor Framework: event-based actors on its pool of threads. The
/// actor is a counter on both sides; an answer is the new count.

#include <algorithm>
#include <caf/all.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <ray/ray.hpp>
#include <string>
#include <utility>
#include <vector>

#include "benchmark.hpp"

namespace {

using benchmark::best_of;
using benchmark::seconds;
using namespace std::chrono_literals;

// ---- ray

class counter {
 public:
  std::int64_t add(std::int64_t n) { return sum_ += n; }

 private:
  std::int64_t sum_ = 0;
};

/// Calls all the others `count` times each.
class caller {
 public:
  std::int64_t run(const std::vector<ray::actor<counter>>& others, int count) {
    std::vector<ray::future<std::int64_t>> answers;
    for (int i = 0; i < count; ++i) {
      for (const auto& other : others) answers.push_back(other.call(&counter::add, 1));
    }
    return static_cast<std::int64_t>(ray::get(std::move(answers)).size());
  }
};

// ---- CAF. Requests of an event-based actor are answered by messages of its own; `then` is what it
// does with an answer.

struct counter_state {
  std::int64_t sum = 0;
};

caf::behavior caf_counter(caf::stateful_actor<counter_state>* self) {
  return {[self](caf::add_atom, std::int64_t n) { return self->state.sum += n; }};
}

struct caller_state {
  std::int64_t unsent = 0, unanswered = 0, all = 0;
  caf::response_promise done;
};
using caller_actor = caf::stateful_actor<caller_state>;

void send_next(caller_actor* self, const std::vector<caf::actor>& others) {
  auto& state = self->state;
  if (state.unsent == 0) return;
  const auto& other = others[static_cast<std::size_t>(--state.unsent) % others.size()];
  self->request(other, caf::infinite, caf::add_atom::value, std::int64_t{1})
      .then([self, &others](std::int64_t) {
        if (--self->state.unanswered == 0) self->state.done.deliver(self->state.all);
        send_next(self, others);
      });
}

/// Answers how many answers it got, when it has them all. It has 64 requests under way, since what
/// CAF takes for one grows with the number of those that are open.
caf::behavior caf_caller(caller_actor* self, const std::vector<caf::actor>& given) {
  const auto others = std::make_shared<const std::vector<caf::actor>>(given);
  return {[self, others](caf::join_atom, int count) -> caf::result<std::int64_t> {
    auto& state = self->state;
    state.unsent = state.unanswered = state.all = static_cast<std::int64_t>(others->size()) * count;
    state.done = self->make_response_promise();
    for (int i = 0; i < 64; ++i) send_next(self, *others);
    return state.done;
  }};
}

/// Asks, and waits for the answer.
template <typename... Arguments>
std::int64_t ask(caf::scoped_actor& self, const caf::actor& whom, Arguments... arguments) {
  std::int64_t result = -1;
  self->request(whom, caf::infinite, arguments...)
      .receive([&](std::int64_t answer) { result = answer; }, [](const caf::error&) {});
  return result;
}

// ---- the runs

void measure_sequence(benchmark::table& table, caf::actor_system& system,
                      const benchmark::settings& run) {
  const int count = run.size(20'000);
  const auto ours = ray::make_actor<counter>();
  const auto theirs = system.spawn(caf_counter);
  caf::scoped_actor self(system);
  const auto [inline_time, pool, caf_time] = best_of(
      run.rounds,
      [&] {
        return seconds([&] {
          for (int i = 0; i < count; ++i) (void)ray::get(ours.call(&counter::add, 1));
        });
      },
      [&] {
        // A get with a timeout never runs the call itself.
        return seconds([&] {
          for (int i = 0; i < count; ++i) (void)ray::get(ours.call(&counter::add, 1), 1h);
        });
      },
      [&] {
        return seconds([&] {
          for (int i = 0; i < count; ++i) ask(self, theirs, caf::add_atom::value, std::int64_t{1});
        });
      });
  benchmark::require(ray::get(ours.call(&counter::add, 0)) == 2LL * count * run.rounds, "sequence");
  const char* const peer = "CAF request, receive";
  table.row("call and answer, one at a time", "ns", inline_time / count * 1e9, peer,
            caf_time / count * 1e9);
  table.row("the same, when a pool thread must run it", "ns", pool / count * 1e9, peer,
            caf_time / count * 1e9);
  self->send_exit(theirs, caf::exit_reason::user_shutdown);
}

void measure_pipelined(benchmark::table& table, caf::actor_system& system,
                       const benchmark::settings& run) {
  const int count = run.size(1'000'000);
  const auto ours = ray::make_actor<counter>();
  const auto theirs = system.spawn(caf_counter);
  const auto asker = system.spawn(caf_caller, std::vector<caf::actor>{theirs});
  caf::scoped_actor self(system);
  const auto [answered, unanswered, caf_answered, caf_unanswered] = best_of(
      run.rounds,
      [&] {
        return seconds([&] {
          std::vector<ray::future<std::int64_t>> answers;
          answers.reserve(static_cast<std::size_t>(count));
          for (int i = 0; i < count; ++i) answers.push_back(ours.call(&counter::add, 1));
          ray::get(std::move(answers));
        });
      },
      [&] {
        return seconds([&] {
          for (int i = 0; i < count; ++i) ours.call(&counter::add, 1);
          (void)ray::get(ours.call(&counter::add, 0));
        });
      },
      [&] { return seconds([&] { ask(self, asker, caf::join_atom::value, count); }); },
      [&] {
        return seconds([&] {
          for (int i = 0; i < count; ++i) {
            self->send(theirs, caf::add_atom::value, std::int64_t{1});
          }
          ask(self, theirs, caf::add_atom::value, std::int64_t{0});
        });
      });
  const auto sum = ray::get(ours.call(&counter::add, 0));
  benchmark::require(sum == 2LL * count * run.rounds, "pipelined");
  benchmark::require(ask(self, theirs, caf::add_atom::value, std::int64_t{0}) == sum, "CAF");
  table.row("a million calls, then their answers", "ns each", answered / count * 1e9,
            "CAF request, then (64 under way)", caf_answered / count * 1e9);
  table.row("a million calls, the answers dropped", "ns each", unanswered / count * 1e9, "CAF send",
            caf_unanswered / count * 1e9);
  self->send_exit(asker, caf::exit_reason::user_shutdown);
  self->send_exit(theirs, caf::exit_reason::user_shutdown);
}

void measure_many(benchmark::table& table, caf::actor_system& system,
                  const benchmark::settings& run) {
  constexpr int actors = 8;
  const int count = run.size(20'000);
  const double calls = static_cast<double>(count) * actors * actors;
  std::vector<ray::actor<counter>> counters;
  std::vector<ray::actor<caller>> callers;
  std::vector<caf::actor> caf_counters, caf_callers;
  for (int i = 0; i < actors; ++i) {
    counters.push_back(ray::make_actor<counter>());
    callers.push_back(ray::make_actor<caller>());
    caf_counters.push_back(system.spawn(caf_counter));
  }
  for (int i = 0; i < actors; ++i) caf_callers.push_back(system.spawn(caf_caller, caf_counters));
  caf::scoped_actor self(system);
  const auto [ours, theirs] = best_of(
      run.rounds,
      [&] {
        return seconds([&] {
          std::vector<ray::future<std::int64_t>> ends;
          for (const auto& each : callers) {
            ends.push_back(each.call(&caller::run, counters, count));
          }
          ray::get(ends);
        });
      },
      [&] {
        return seconds([&] {
          for (const auto& each : caf_callers) self->send(each, caf::join_atom::value, count);
          for (int i = 0; i < actors; ++i) self->receive([](std::int64_t) {});
        });
      });
  std::int64_t sum = 0;
  for (const auto& each : counters) sum += ray::get(each.call(&counter::add, 0));
  benchmark::require(static_cast<double>(sum) == calls * run.rounds, "n to n");
  table.row("8 actors call 8 others, with answers", "ns each", ours / calls * 1e9,
            "CAF request, then (64 under way)", theirs / calls * 1e9);
  for (const auto& each : caf_callers) self->send_exit(each, caf::exit_reason::user_shutdown);
  for (const auto& each : caf_counters) self->send_exit(each, caf::exit_reason::user_shutdown);
}

void measure_creation(benchmark::table& table, caf::actor_system& system,
                      const benchmark::settings& run) {
  const int count = run.size(100'000);
  const auto [ours, theirs] = best_of(
      run.rounds,
      [&] {
        return seconds([&] {
          std::vector<ray::future<std::int64_t>> answers;
          for (int i = 0; i < count; ++i) {
            answers.push_back(ray::make_actor<counter>().call(&counter::add, 1));
          }
          ray::get(std::move(answers));
        });
      },
      [&] {
        return seconds([&] {
          caf::scoped_actor self(system);
          for (int i = 0; i < count; ++i) {
            self->send(system.spawn(caf_counter), caf::add_atom::value, std::int64_t{1});
          }
          for (int i = 0; i < count; ++i) self->receive([](std::int64_t) {});
        });
      });
  table.row("an actor: made, called once, gone", "ns", ours / count * 1e9, "CAF spawn",
            theirs / count * 1e9);
}

}  // namespace

int main(int argc, char** argv) {
  const auto run = benchmark::parse(argc, argv, "Calls of actors.");
  caf::actor_system_config config;
  config.set("scheduler.policy", caf::atom("sharing"));  // the faster one here, see README.md
  config.set("scheduler.max-threads", static_cast<std::uint64_t>(run.threads));
  caf::actor_system system(config);
  auto session = ray::init({.num_cpus = run.threads});
  benchmark::table table("actors", run);
  measure_sequence(table, system, run);
  measure_pipelined(table, system, run);
  measure_many(table, system, run);
  measure_creation(table, system, run);
}
