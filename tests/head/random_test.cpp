/// Seeded random schedules over everything that the machine can be asked and told. After every step
/// the books are checked (world, inspector); in the end everything that was granted is given back,
/// and then everything that could ever be granted must have been.
#include "world.hpp"

#include <cstdlib>
#include <random>

using namespace ray;
using namespace ray::detail::head;
namespace head = ray::detail::head;
using testing::world;

namespace {

class chaos {
 public:
  explicit chaos(unsigned seed, bool many_nodes) : random_(seed), many_nodes_(many_nodes) {}

  /// Returns a digest of all that happened.
  std::uint64_t run(int steps) {
    for (int i = 0; i < 1 + number(many_nodes_ ? 5 : 1); ++i) add_node();
    for (int i = 0; i < 1 + number(2); ++i) add_job();
    for (int step = 0; step < steps; ++step) one_step();
    finish();
    return w.digest();
  }

 private:
  struct known_class {
    class_id cls;
    job_id job;
    bool standing;
    int priority;
    int job_priority;
    std::optional<group_id> group;
  };

  int number(int below) { return static_cast<int>(random_() % static_cast<unsigned>(below)); }
  bool chance(int percent) { return number(100) < percent; }
  template <typename List>
  auto& pick(List& list) {
    return list[static_cast<std::size_t>(number(static_cast<int>(list.size())))];
  }

  resource_set some_resources() {
    static constexpr double cpus[] = {0, 0.5, 1, 1, 1, 2, 3};
    resource_set set(cpus[number(7)], chance(20) ? 0.5 * (1 + number(3)) : 0.0,
                     chance(20) ? static_cast<std::size_t>(number(50)) : 0);
    if (chance(10)) set.set_custom(chance(50) ? "disk" : "tape", 1);
    return set;
  }
  label_map some_labels(int percent) {
    if (!chance(percent)) return {};
    return {{"zone", chance(50) ? "a" : "b"}};
  }
  class_spec some_spec(job_id job) {
    class_spec spec{.resources = some_resources(), .labels = some_labels(15)};
    if (chance(20)) spec.priority = number(3) - 1;
    switch (number(8)) {
      case 0:
        spec.strategy = spread_out{};
        break;
      case 1:
        if (!nodes_.empty()) spec.strategy = on_node{pick(nodes_), chance(50)};
        break;
      case 2:
      case 3:
        if (const auto group = group_of(job)) {
          spec.strategy = in_bundle{*group, number(3)};
          spec.labels.clear();
        }
        break;
      default:
        break;
    }
    return spec;
  }
  std::optional<group_id> group_of(job_id job) {
    const auto views = w.machine.groups();
    std::vector<group_id> mine;
    for (const auto& one : views)
      if (one.job == job) mine.push_back(one.id);
    if (mine.empty()) return std::nullopt;
    return pick(mine);
  }

  void add_node() {
    if (nodes_.size() >= (many_nodes_ ? 12u : 2u)) return;
    nodes_.push_back(w.node({1 + number(6), number(3), static_cast<std::size_t>(number(100)),
                             chance(50) ? std::map<std::string, double>{{"disk", 2.0}}
                                        : std::map<std::string, double>{}},
                            some_labels(60)));
  }
  void remove_node() {
    if (nodes_.empty()) return;
    const auto at = nodes_.begin() + number(static_cast<int>(nodes_.size()));
    const node_id node = *at;
    nodes_.erase(at);
    std::erase_if(w.running, [&](const auto& one) { return one.second.node == node; });
    std::erase_if(lent_, [&](const auto& one) { return one.first.second == node; });
    std::erase_if(w.to_stop, [&](actor_id id) { return !w.running.contains(id); });
    w.apply(head::remove_node{node, "chaos"});
  }
  void add_job() {
    const int priority = chance(20) ? number(2) : 0;
    jobs_.push_back(w.job(priority));
    priority_of_[jobs_.back()] = priority;
  }
  void end_job() {
    if (jobs_.empty()) return;
    const auto at = jobs_.begin() + number(static_cast<int>(jobs_.size()));
    const job_id job = *at;
    jobs_.erase(at);
    // What the job has is void with it.
    std::set<class_id> gone;
    for (const auto& one : classes_)
      if (one.job == job) gone.insert(one.cls);
    std::erase_if(classes_, [&](const auto& one) { return one.job == job; });
    std::erase_if(w.slots, [&](const auto& one) { return gone.contains(one.first.first); });
    std::erase_if(w.recalled, [&](const auto& one) { return gone.contains(one.first.first); });
    std::erase_if(lent_, [&](const auto& one) { return gone.contains(one.first.first); });
    std::erase_if(w.running, [&](const auto& one) {
      return job_of_[one.first] == job && !detached_.contains(one.first);
    });
    w.apply(head::end_job{job});
    std::erase_if(w.to_stop, [&](actor_id id) { return !w.running.contains(id); });
  }

  void state_demand() {
    if (jobs_.empty()) return;
    if (classes_.size() < 14 && chance(50)) {
      const job_id job = pick(jobs_);
      try {
        const class_spec spec = some_spec(job);
        const class_id cls = w.class_of(job, spec);
        for (const auto& one : classes_)
          if (one.cls == cls) return w.machine.drop_class(cls);
        std::optional<group_id> group;
        if (const auto* in = std::get_if<in_bundle>(&spec.strategy)) group = in->group;
        classes_.push_back({cls, job, chance(15), spec.priority, priority_of_[job], group});
      } catch (const usage_error&) {
      } catch (const infeasible_error&) {
      }
      return;
    }
    if (classes_.empty()) return;
    const auto at = classes_.begin() + number(static_cast<int>(classes_.size()));
    const auto one = *at;
    const bool idle = w.machine.granted(one.cls) == 0 && w.machine.waiting(one.cls) == 0;
    if (w.cancelled.contains(one.cls) || (idle && chance(10))) {
      if (w.cancelled.contains(one.cls) && w.granted(one.cls) > 0) return;
      w.machine.drop_class(one.cls);
      classes_.erase(at);
      return w.check_books();
    }
    if (one.standing)
      w.keep(one.cls, number(5));
    else
      w.demand(one.cls, number(6));
  }
  void give_back_some() {
    if (w.slots.empty()) return;
    auto at = w.slots.begin();
    std::advance(at, number(static_cast<int>(w.slots.size())));
    const auto [key, count] = *at;
    const std::int64_t lent = lent_[key];
    const auto slots = 1 + number(static_cast<int>(count));
    if (count - slots < lent) return;  // these are blocked
    w.release(key.first, key.second, slots, chance(10));
  }
  void answer_recall() {
    if (w.recalled.empty()) return;
    const auto [key, one] = *w.recalled.begin();
    if (w.granted(key.first, key.second) <= lent_[key]) return;
    if (one.from_busy > 0)
      w.release(key.first, key.second);
    else if (chance(50))
      w.release(key.first, key.second, 1, true);
  }
  void block() {
    if (w.slots.empty()) return;
    auto at = w.slots.begin();
    std::advance(at, number(static_cast<int>(w.slots.size())));
    const auto [key, count] = *at;
    if (lent_[key] >= count) return;
    ++lent_[key];
    w.apply(lend{key.first, key.second, 1});
  }
  void unblock() {
    for (auto& [key, count] : lent_) {
      if (count == 0 || chance(50)) continue;
      --count;
      return w.apply(reclaim{key.first, key.second, 1});
    }
  }
  void make_group() {
    if (jobs_.empty()) return;
    std::vector<bundle_spec> bundles;
    for (int i = 0; i < 1 + number(3); ++i) {
      resource_set resources = some_resources();
      if (resources.empty()) resources = {1};
      bundles.push_back({resources, some_labels(15)});
    }
    w.group(pick(jobs_), bundles, static_cast<group_strategy>(number(4)));
  }
  void remove_group() {
    const auto views = w.machine.groups();
    if (!views.empty()) w.apply(head::remove_group{pick(views).id});
  }
  void make_actor() {
    if (jobs_.empty() || w.machine.actors().size() > 20) return;
    const job_id job = pick(jobs_);
    create_actor in{.job = job, .spec = some_spec(job), .max_restarts = number(3) - 1};
    in.spec.priority = 0;
    if (chance(30)) in.name = std::string("name") + std::to_string(number(5));
    in.detached = !in.name.empty() && chance(20);
    in.get_if_exists = chance(30);
    try {
      const bool detached = in.detached;
      const actor_id id = w.actor(std::move(in));
      job_of_[id] = job;
      if (detached) detached_.insert(id);
    } catch (const usage_error&) {
    } catch (const infeasible_error&) {
    }
  }
  void end_some_actor() {
    const auto views = w.machine.actors();
    if (views.empty()) return;
    const actor_id id = pick(views).id;
    if (chance(50))
      w.apply(kill_actor{id, chance(40)});
    else
      w.apply(actor_unreferenced{id});
  }
  void lose_some_actor() {
    if (w.running.empty()) return;
    auto at = w.running.begin();
    std::advance(at, number(static_cast<int>(w.running.size())));
    w.died(at->first, chance(70));
  }
  void obey() {
    while (!w.to_stop.empty()) w.died(*w.to_stop.begin());
  }

  void one_step() {
    const int what = number(100);
    if (what < 30) return state_demand();
    if (what < 52) return give_back_some();
    if (what < 60) return answer_recall();
    if (what < 64) return block();
    if (what < 70) return unblock();
    if (what < 75) return make_group();
    if (what < 79) return remove_group();
    if (what < 86) return make_actor();
    if (what < 89) return end_some_actor();
    if (what < 92) return lose_some_actor();
    if (what < 95) return obey();
    if (what < 97) return add_node();
    if (what < 98) return remove_node();
    if (what < 99) return add_job();
    end_job();
  }

  /// No starvation: when all that runs ends sooner or later, all that waits and could ever run
  /// does.
  void finish() {
    for (auto& [key, count] : lent_)
      if (count > 0) w.apply(reclaim{key.first, key.second, count});
    lent_.clear();
    for (const auto& one : classes_)
      if (one.standing) w.keep(one.cls, 0);
    int highest = 0;
    for (const job_id job : jobs_) highest = std::max(highest, priority_of_[job]);

    // Meanwhile others keep asking, with narrow tasks of the same priority.
    std::vector<class_id> narrow;
    for (const job_id job : jobs_)
      narrow.push_back(w.class_of(job, {.resources = {0.5}, .isolated = true}));
    for (int round = 0; round < 600; ++round) {
      for (const class_id cls : narrow)
        if (round < 500 && !w.cancelled.contains(cls)) w.demand(cls, 30);
      if (round == 500)
        for (const class_id cls : narrow) w.demand(cls, 0);
      // Everything ends: a task of each class, an actor, a group that had its time.
      for (const auto& [key, count] : std::map(w.slots)) w.release(key.first, key.second, 1);
      obey();
      if (!w.running.empty()) w.died(w.running.begin()->first, false);
      for (const auto& one : w.machine.groups())
        // Also one that has lost a bundle for good.
        if (one.ready || std::ranges::count(one.nodes, node_id{}) <
                             static_cast<std::ptrdiff_t>(one.nodes.size())) {
          w.apply(head::remove_group{one.id});
          break;
        }
      // But for those that anyone else may always go before.
      if (round == 499)
        for (const auto& one : classes_)
          if (one.priority >= 0 && one.job_priority == highest) check_served(one);
    }
    for (const auto& one : classes_) check_served(one);
    for (const auto& one : w.machine.groups()) CHECK(said_infeasible(one.id));
    for (const auto& one : w.machine.actors()) {
      CHECK(one.state == actor_state::waiting);
      const bool in_lost_group = w.machine.granted(one.cls) == 0;
      CHECK((said_infeasible(one.id) || in_lost_group));
    }
    give_all_back();
  }

  void check_served(const known_class& one) {
    if (w.cancelled.contains(one.cls) || said_infeasible(one.cls)) return;
    if (one.group && said_infeasible(*one.group)) return;
    CHECK(w.machine.waiting(one.cls) == 0);
  }
  template <typename Id>
  bool said_infeasible(Id id) const {
    for (const infeasible& one : w.warnings)
      if (const auto* it = std::get_if<Id>(&one.what); it != nullptr && *it == id) return true;
    return false;
  }

  /// Jobs that end leave nothing behind.
  void give_all_back() {
    while (!jobs_.empty()) end_job();
    for (const auto& one : w.machine.actors()) w.apply(kill_actor{one.id});
    obey();
    CHECK(w.machine.available_resources() == w.machine.total_resources());
    CHECK(inspector::lines(w.machine) == 0);
    CHECK(inspector::records(w.machine) == 0);
    CHECK(inspector::pools(w.machine) == 1);
    CHECK(inspector::jobs(w.machine) == 0);
  }

  world w;
  std::mt19937 random_;
  bool many_nodes_;
  std::vector<node_id> nodes_;
  std::vector<job_id> jobs_;
  std::vector<known_class> classes_;
  std::map<std::pair<class_id, node_id>, std::int64_t> lent_;
  std::map<job_id, int> priority_of_;
  std::map<actor_id, job_id> job_of_;
  std::set<actor_id> detached_;
};

/// RAY_TEST_SEED=n runs that one schedule alone, RAY_TEST_SEEDS=m so many, from n or the first on.
void run_seeds(unsigned first, unsigned count, bool many_nodes) {
  const auto from_environment = [](const char* name, unsigned otherwise) {
    const char* text = std::getenv(name);
    return text == nullptr ? otherwise : static_cast<unsigned>(std::stoul(text));
  };
  const bool one = std::getenv("RAY_TEST_SEED") != nullptr;
  first = from_environment("RAY_TEST_SEED", first);
  count = from_environment("RAY_TEST_SEEDS", one ? 1 : count);
  for (unsigned seed = first; seed < first + count; ++seed) {
    CAPTURE(seed);
    chaos(seed, many_nodes).run(400);
  }
}

}  // namespace

TEST_CASE("random schedules on one node keep the books") { run_seeds(1, 50, false); }

TEST_CASE("the same inputs have the same effects") {
  CHECK(chaos(5, true).run(300) == chaos(5, true).run(300));
}

TEST_CASE("random schedules on many nodes keep the books") { run_seeds(1000, 50, true); }
