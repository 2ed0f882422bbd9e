/// What an event costs when there is much of everything. What is asserted is work, counted as lines
/// looked at; the times are printed for whoever reads.
#include "world.hpp"

#include <chrono>
#include <iostream>

using namespace ray;
using namespace ray::detail::head;
namespace head = ray::detail::head;
using testing::make_id;

namespace {

class meter {
 public:
  explicit meter(const machine& it) : it_(it) {}
  void start() {
    looked_at_ = inspector::looked_at(it_);
    begin_ = std::chrono::steady_clock::now();
  }
  /// Lines looked at per event.
  double stop(const char* what, int events) {
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin_;
    const auto looked = static_cast<double>(inspector::looked_at(it_) - looked_at_) / events;
    std::cout << "  " << what << ": " << static_cast<long>(took.count()) / events << " ns, "
              << looked << " lines looked at an event\n";
    return looked;
  }

 private:
  const machine& it_;
  std::uint64_t looked_at_ = 0;
  std::chrono::steady_clock::time_point begin_;
};

constexpr job_id the_job{1, 1};

void add_nodes(machine& it, effects& out, std::uint64_t count) {
  it.apply(add_job{the_job}, out);
  for (std::uint64_t i = 1; i <= count; ++i)
    it.apply(add_node{make_id<node_id>(i), "node", {16, 2}, {{"rack", std::to_string(i % 50)}}},
             out);
  out.clear();
}

}  // namespace

TEST_CASE("a step of a class costs the same on one node and on a thousand") {
  for (const std::uint64_t nodes : {1u, 1000u}) {
    std::cout << nodes << " node(s)\n";
    machine it;
    effects out;
    add_nodes(it, out, nodes);
    meter m(it);
    const auto cls = it.class_of(the_job, {.resources = {2}}, "task 'f'");
    constexpr int rounds = 20000;
    m.start();
    for (int i = 0; i < rounds; ++i) {
      it.apply(demand{cls, 1}, out);
      const node_id node = std::get<grant>(out.back()).node;
      out.clear();
      it.apply(release{cls, node}, out);
    }
    CHECK(m.stop("demand, grant, release; nothing waits", 2 * rounds) == 0);

    it.apply(demand{cls, 100'000'000}, out);
    const node_id first = std::get<grant>(out.front()).node;
    out.clear();
    m.start();
    for (int i = 0; i < rounds; ++i) {
      it.apply(release{cls, first}, out);
      CHECK(out.size() == 1);
      out.clear();
    }
    CHECK(m.stop("release, grant; a long queue", rounds) <= 3);

    std::vector<class_id> others;
    for (int i = 1; i <= 10; ++i) {
      others.push_back(it.class_of(the_job, {.resources = {0.5 * i}}, "task 'g'"));
      it.apply(demand{others.back(), 100'000'000}, out);
    }
    std::deque<std::pair<class_id, node_id>> running;
    for (std::uint64_t i = 1; i <= nodes; ++i)
      for (int slot = 0; slot < 8; ++slot) running.emplace_back(cls, make_id<node_id>(i));
    out.clear();
    m.start();
    for (int i = 0; i < rounds; ++i) {
      const auto [one, node] = running.front();
      running.pop_front();
      it.apply(release{one, node}, out);
      for (const effect& each : out)
        if (const auto* granted = std::get_if<grant>(&each))
          for (int slot = 0; slot < granted->slots; ++slot)
            running.emplace_back(granted->cls, granted->node);
      out.clear();
    }
    CHECK(m.stop("release, grant; eleven classes wait", rounds) <= 15);
  }
}

TEST_CASE("ten thousand actors on a thousand nodes") {
  machine it;
  effects out;
  add_nodes(it, out, 1000);
  meter m(it);
  constexpr int count = 10000;
  const auto create = [&](int first, resource_set resources, const char* what) {
    m.start();
    for (int i = 0; i < count; ++i)
      it.apply(create_actor{.id = make_id<actor_id>(static_cast<std::uint64_t>(first + i)),
                            .job = the_job,
                            .spec = {.resources = resources},
                            .type_name = "counter",
                            .name = "a" + std::to_string(first + i)},
               out);
    CHECK(m.stop(what, count) <= 1);
  };
  create(1, {}, "create and place an actor without resources");
  CHECK(out.size() == count);
  out.clear();
  create(1 + count, {1}, "create and place an actor with one CPU");
  CHECK(out.size() == count);
  out.clear();
  create(1 + 2 * count, {1}, "create an actor with one CPU, half of them have to wait");
  CHECK(out.size() == 6000);
  out.clear();
  m.start();
  for (int i = 0; i < 4000; ++i)
    it.apply(actor_died{make_id<actor_id>(static_cast<std::uint64_t>(1 + count + i)), 0, "", false},
             out);
  CHECK(m.stop("an actor dies, the next is placed", 4000) <= 4);
  CHECK(out.size() == 8000);
  out.clear();
  m.start();
  for (int i = 1; i <= count; ++i) CHECK(it.find_actor("a" + std::to_string(i), "default"));
  m.stop("find an actor by name", count);
}

TEST_CASE("a thousand groups on a thousand nodes") {
  machine it;
  effects out;
  add_nodes(it, out, 1000);
  meter m(it);
  constexpr int count = 1000;
  for (const auto strategy : {group_strategy::pack, group_strategy::spread,
                              group_strategy::strict_pack, group_strategy::strict_spread}) {
    std::cout << to_string(strategy) << '\n';
    m.start();
    for (std::uint64_t i = 1; i <= count; ++i)
      it.apply(create_group{make_id<group_id>(i),
                            the_job,
                            {{{1}, {}}, {{1}, {}}, {{2}, {}}, {{1, 0.5}, {}}, {{1}, {}}},
                            strategy},
               out);
    CHECK(m.stop("create and place a group of five bundles", count) <= 1);
    CHECK(out.size() == count);
    out.clear();
    m.start();
    for (std::uint64_t i = 1; i <= count; ++i) it.apply(remove_group{make_id<group_id>(i)}, out);
    CHECK(m.stop("remove it", count) <= 1);
    out.clear();
  }
  // More than there is room for: the rest waits in one line.
  m.start();
  for (std::uint64_t i = 1; i <= 4 * count; ++i)
    it.apply(create_group{make_id<group_id>(i), the_job, {{{8}, {}}, {{8}, {}}}}, out);
  CHECK(m.stop("create a group, three of four have to wait", 4 * count) <= 2);
  CHECK(out.size() == count);
  out.clear();
  m.start();
  for (std::uint64_t i = 1; i <= count; ++i) it.apply(remove_group{make_id<group_id>(i)}, out);
  CHECK(m.stop("remove a group, the next is placed", count) <= 5);
  CHECK(out.size() == 2 * count);
}

TEST_CASE("tasks in a thousand bundles do not see each other") {
  machine it;
  effects out;
  add_nodes(it, out, 1000);
  meter m(it);
  std::vector<std::pair<class_id, node_id>> classes;
  for (std::uint64_t i = 1; i <= 1000; ++i) {
    it.apply(create_group{make_id<group_id>(i), the_job, {{{2}, {}}}}, out);
    const node_id node = std::get<group_ready>(out.back()).nodes[0];
    const class_spec spec{.resources = {1}, .strategy = in_bundle{make_id<group_id>(i), 0}};
    classes.emplace_back(it.class_of(the_job, spec, "task 'f'"), node);
    it.apply(demand{classes.back().first, 1000}, out);
  }
  out.clear();
  m.start();
  for (int round = 0; round < 20; ++round)
    for (const auto& [cls, node] : classes) it.apply(release{cls, node}, out);
  CHECK(m.stop("release, grant in a bundle", 20000) <= 3);
  CHECK(out.size() == 20000);
}

TEST_CASE("the tokens of one process and a queue of other tasks") {
  machine it;
  effects out;
  it.apply(add_job{the_job}, out);
  const node_id node = make_id<node_id>(1);
  it.apply(add_node{node, "here", {8}}, out);
  const auto tokens = it.class_of(the_job, {.resources = {1}}, "the plain tasks");
  const auto pairs = it.class_of(the_job, {.resources = {2}}, "task 'f'");
  it.apply(standing{tokens, 8}, out);
  out.clear();
  meter m(it);
  constexpr int rounds = 20000;
  m.start();
  for (int i = 0; i < rounds; ++i) {
    it.apply(demand{pairs, 1}, out);
    it.apply(release{tokens, node, 2}, out);
    it.apply(release{pairs, node}, out);
    out.clear();
  }
  CHECK(m.stop("a wide task against tokens: demand, tokens back, release", rounds) <= 8);
}
