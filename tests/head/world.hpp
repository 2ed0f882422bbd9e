/// A small world around the head's machine, for its tests: makes ids, carries effects out into
/// plain maps, and checks after every step that the books add up.
#pragma once

#include "head/machine.hpp"
#include "inspector.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace ray::detail::head::testing {

template <typename Id>
[[nodiscard]] Id make_id(std::uint64_t number) {
  return Id{1, number};
}

struct placed_actor_info {
  class_id cls = {};
  node_id node = {};
  std::int64_t incarnation = 0;
};

class world {
 public:
  head::machine machine;

  // What the effects have said so far.
  std::map<std::pair<class_id, node_id>, std::int64_t> slots;  // granted, not yet given back
  std::map<std::pair<class_id, node_id>, recall> recalled;     // as last said
  std::map<group_id, std::vector<node_id>> ready;
  std::map<actor_id, placed_actor_info> running;  // incarnations that were not reported gone
  std::map<actor_id, std::string> ended;
  std::set<actor_id> to_stop;
  std::set<class_id> cancelled;
  std::vector<infeasible> warnings;
  effects last;  // of the last step

  template <typename Input>
  void apply(const Input& in) {
    last.clear();
    machine.apply(in, last);
    for (const effect& one : last) {
      digest_ = digest_ * 31 + one.index();
      std::visit([&](const auto& it) { note(it); }, one);
    }
    check_books();
  }

  node_id node(resource_set resources, label_map labels = {}) {
    const auto id = make_id<node_id>(++nodes_);
    apply(add_node{id, "node" + std::to_string(nodes_), std::move(resources), std::move(labels)});
    return id;
  }
  job_id job(int priority = 0, std::string name_space = "default") {
    const auto id = make_id<job_id>(++jobs_);
    apply(add_job{id, priority, std::move(name_space)});
    return id;
  }
  class_id class_of(job_id job, class_spec spec) {
    return machine.class_of(job, spec, "task 'test'");
  }
  class_id cpus(job_id job, amount cpu, int priority = 0) {
    return class_of(job, {.resources = {cpu}, .priority = priority});
  }
  void demand(class_id cls, std::int64_t waiting) { apply(head::demand{cls, waiting}); }
  void keep(class_id cls, std::int64_t count) { apply(standing{cls, count}); }
  void release(class_id cls, node_id node, std::int64_t count = 1, bool idle = false) {
    note_returned(cls, node, count);
    apply(head::release{cls, node, count, idle});
  }
  /// From wherever it has one.
  void release_one(class_id cls) {
    for (const auto& [key, count] : slots)
      if (key.first == cls && count > 0) return release(cls, key.second);
    FAIL("the class has no slot");
  }
  group_id group(job_id job, std::vector<bundle_spec> bundles,
                 group_strategy strategy = group_strategy::pack) {
    const auto id = make_id<group_id>(++groups_);
    apply(create_group{id, job, std::move(bundles), strategy});
    return id;
  }
  actor_id actor(job_id job, class_spec spec = {}) {
    return actor({.job = job, .spec = std::move(spec)});
  }
  actor_id actor(create_actor in) {
    in.id = make_id<actor_id>(++actors_);
    in.type_name = "counter";
    apply(in);
    return in.id;
  }
  void died(actor_id id, bool can_restart = true, const std::string& reason = "it crashed") {
    const auto found = running.find(id);
    REQUIRE(found != running.end());
    const std::int64_t incarnation = found->second.incarnation;
    running.erase(found);
    to_stop.erase(id);
    apply(actor_died{id, incarnation, reason, can_restart});
  }

  [[nodiscard]] std::int64_t granted(class_id cls) const {
    std::int64_t sum = 0;
    for (const auto& [key, count] : slots)
      if (key.first == cls) sum += count;
    return sum;
  }
  [[nodiscard]] std::int64_t granted(class_id cls, node_id node) const {
    const auto found = slots.find({cls, node});
    return found == slots.end() ? 0 : found->second;
  }
  [[nodiscard]] std::int64_t asked_back(class_id cls) const {
    std::int64_t sum = 0;
    for (const auto& [key, one] : recalled)
      if (key.first == cls) sum += one.slots;
    return sum;
  }
  [[nodiscard]] bool is_ready(group_id id) const { return ready.contains(id); }
  [[nodiscard]] bool is_running(actor_id id) const { return running.contains(id); }
  [[nodiscard]] bool has_ended(actor_id id) const { return ended.contains(id); }
  template <typename Effect>
  [[nodiscard]] std::vector<Effect> last_of() const {
    std::vector<Effect> found;
    for (const effect& one : last)
      if (const auto* it = std::get_if<Effect>(&one)) found.push_back(*it);
    return found;
  }

  /// Of all effects so far, and of what was granted where.
  [[nodiscard]] std::uint64_t digest() const { return digest_; }

  /// What must hold after every step.
  void check_books() const {
    inspector::check(machine);
    std::map<class_id, std::int64_t> sums;
    for (const auto& [key, count] : slots) sums[key.first] += count;
    for (const auto& [cls, sum] : sums)
      if (machine.granted(cls) != sum) FAIL_CHECK("a class has other slots than it was granted");
    const auto asked = inspector::recalled(machine);
    bool agreed = asked.size() == recalled.size();
    for (const auto& [key, one] : recalled) {
      const auto known = asked.find(key);
      agreed =
          agreed && known != asked.end() && known->second == std::pair{one.slots, one.from_busy};
    }
    if (!agreed) FAIL_CHECK("the two sides do not agree about what is asked back");
  }

 private:
  void note(const grant& one) {
    CHECK(one.slots > 0);
    slots[{one.cls, one.node}] += one.slots;
    digest_ = digest_ * 31 + one.node.low * 7 + static_cast<std::uint64_t>(one.slots);
  }
  void note(const revoke& one) {
    CHECK(granted(one.cls, one.node) == one.slots);
    slots.erase({one.cls, one.node});
    recalled.erase({one.cls, one.node});
  }
  void note(const recall& one) {
    CHECK(one.from_busy <= one.slots);
    CHECK(one.slots <= granted(one.cls, one.node));
    if (one.slots == 0)
      recalled.erase({one.cls, one.node});
    else
      recalled[{one.cls, one.node}] = one;
  }
  void note(const class_cancelled& one) { cancelled.insert(one.cls); }
  void note(const infeasible& one) { warnings.push_back(one); }
  void note(const group_ready& one) { ready[one.id] = one.nodes; }
  void note(const group_removed& one) { ready.erase(one.id); }
  void note(const actor_placed& one) {
    CHECK(!running.contains(one.id));
    CHECK(!ended.contains(one.id));
    running[one.id] = {one.cls, one.node, one.incarnation};
  }
  void note(const actor_stop& one) {
    CHECK(running.contains(one.id));
    to_stop.insert(one.id);
  }
  void note(const actor_restarting&) {}
  void note(const actor_failed& one) { ended[one.id] = one.reason; }
  void note(const actor_exists& one) { ended[one.requested] = "exists"; }
  void note(const actor_ended& one) {
    CHECK(!ended.contains(one.id));
    ended[one.id] = one.reason;
  }

  void note_returned(class_id cls, node_id node, std::int64_t count) {
    const auto found = slots.find({cls, node});
    REQUIRE(found != slots.end());
    REQUIRE(found->second >= count);
    if ((found->second -= count) == 0) slots.erase(found);
    // The caller counts what was asked back down by itself, as the machine does.
    const auto asked = recalled.find({cls, node});
    if (asked == recalled.end()) return;
    asked->second.slots -= count;
    asked->second.from_busy = std::max<std::int64_t>(0, asked->second.from_busy - count);
    if (asked->second.slots <= 0) recalled.erase(asked);
  }

  std::uint64_t digest_ = 0;
  std::uint64_t nodes_ = 0;
  std::uint64_t jobs_ = 0;
  std::uint64_t groups_ = 0;
  std::uint64_t actors_ = 0;
};

}  // namespace ray::detail::head::testing
