/// The scheduler's books: what lines have of accounts, and what that leaves.
#include "head/scheduler.hpp"

#include <algorithm>

namespace ray::detail::head {

namespace {

/// Puts `thing` into `things`, into a free place if there is one.
template <typename Thing>
place keep(std::vector<std::unique_ptr<Thing>>& things, std::vector<place>& free,
           std::unique_ptr<Thing> thing) {
  if (free.empty()) {
    things.push_back(std::move(thing));
    return static_cast<place>(things.size() - 1);
  }
  const place at = free.back();
  free.pop_back();
  things[at] = std::move(thing);
  return at;
}

}  // namespace

scheduler::scheduler() {
  auto cluster = std::make_unique<pool>();
  pool* const made = cluster.get();
  cluster->books = &nodes_;
  made->self = keep(pools_, free_pools_, std::move(cluster));
}

void scheduler::add_node(place node, const request& total) {
  if (node >= alive_.size()) {
    alive_.resize(node + 1, false);
    weightless_.resize(node + 1, 0);
  }
  alive_[node] = true;
  weightless_[node] = 0;
  lightest_.emplace(0, node);
  nodes_.total.add(node, total, 1);
  nodes_.room.add(node, total, 1);
  nodes_.free.add(node, total, 1);
  add_to(totals_, total);
  pool& cluster = *pools_[cluster_pool];
  ++cluster.room_version;
  cluster.all_blocked = false;
  came_back(cluster, node);
  totals_changed();
}

void scheduler::remove_node(place node, const request& total) {
  pool& cluster = *pools_[cluster_pool];
  if (std::ranges::find(cluster.named, node) != cluster.named.end()) stop_drawing(cluster);
  std::erase(cluster.overdrawn, node);
  nodes_.total.clear(node);
  nodes_.room.clear(node);
  nodes_.free.clear(node);
  add_to(totals_, total, -1);
  lightest_.erase({weightless_[node], node});
  alive_[node] = false;
  totals_changed();
}

place scheduler::add_job(int priority) {
  auto at = static_cast<place>(
      std::ranges::find_if(jobs_, [](const job& one) { return !one.live; }) - jobs_.begin());
  if (at == jobs_.size()) jobs_.emplace_back();
  jobs_[at] = job{};
  jobs_[at].live = true;
  jobs_[at].priority = priority;
  jobs_[at].party = add_party(cluster_pool, at);
  ++live_jobs_;
  totals_changed();
  return at;
}

void scheduler::remove_job(place index) {
  free_parties_.push_back(jobs_[index].party);
  parties_[jobs_[index].party].reset();
  jobs_[index].live = false;
  --live_jobs_;
}

place scheduler::add_party(place pool, place job) {
  auto fresh = std::make_unique<party>();
  fresh->pool = pool;
  fresh->job = job;
  fresh->cursor = fresh->lines.end();
  return keep(parties_, free_parties_, std::move(fresh));
}

place scheduler::add_line(line_spec spec) {
  auto fresh = std::make_unique<line>();
  for (const quantity& part : spec.need)
    (part.what == cpu_kind ? fresh->cpu : fresh->rest).push_back(part);
  fresh->slot_share = share_of(spec.need);
  fresh->party = spec.pool == cluster_pool ? jobs_[spec.job].party : pools_[spec.pool]->party;
  fresh->spec = std::move(spec);
  const place index = keep(lines_, free_lines_, std::move(fresh));
  pool& from = pool_of(*lines_[index]);
  if (from.self != cluster_pool) from.lines.push_back(index);
  return index;
}

void scheduler::remove_line(place index) {
  leave(index);
  pool& from = pool_of(*lines_[index]);
  std::erase(from.lines, index);
  std::erase(from.standing, index);
  std::erase_if(from.asked, [&](const auto& one) { return one.first == index; });
  lines_[index].reset();
  free_lines_.push_back(index);
}

void scheduler::change_filter(place index, place node, bool add) {
  line& one = *lines_[index];
  if (add)
    one.spec.where.insert(node);
  else
    one.spec.where.erase(node);
  one.feasible_at = 0;
  one.no_room_at = 0;
}

void scheduler::change_bundle_filters(place index, place node, bool add, const label_map& labels) {
  line& one = *lines_[index];
  for (bundle_need& bundle : one.spec.shape->bundles) {
    if (bundle.where.any || !carries(labels, bundle.labels)) continue;
    if (add)
      bundle.where.insert(node);
    else
      bundle.where.erase(node);
  }
  one.feasible_at = 0;
  one.no_room_at = 0;
}

void scheduler::prefer(place index, place node) { lines_[index]->spec.preferred = node; }

/// The dominant share of the cluster.
double scheduler::share_of(const request& need) const {
  double most = 0;
  for (const quantity& part : need) {
    const std::int64_t total = units_of(totals_, part.what);
    if (total > 0)
      most = std::max(most, static_cast<double>(part.units) / static_cast<double>(total));
  }
  return most;
}

/// Shares are parts of the total: all of them change with it, and the order of those that wait.
void scheduler::totals_changed() {
  ++total_version_;
  for (place index = 0; index < lines_.size(); ++index) {
    if (!lines_[index]) continue;
    lines_[index]->slot_share = share_of(lines_[index]->spec.need);
    refresh(index);
  }
  for (job& one : jobs_)
    if (one.live) charge(static_cast<place>(&one - jobs_.data()), {}, 0);
}

void scheduler::charge(place index, const request& need, std::int64_t times) {
  job& who = jobs_[index];
  for (const quantity& part : need) {
    if (part.what >= who.used.size()) who.used.resize(part.what + 1, 0);
    who.used[part.what] += part.units * times;
  }
  if (live_jobs_ < 2) return;  // nobody to compare with
  double share = 0;
  for (const quantity& total : totals_)
    if (total.what < who.used.size() && total.units > 0)
      share = std::max(
          share, static_cast<double>(who.used[total.what]) / static_cast<double>(total.units));
  if (share == who.share) return;
  pool& cluster = *pools_[cluster_pool];
  party& mine = *parties_[who.party];
  if (mine.lines.empty()) {
    who.share = share;
    return;
  }
  auto node = cluster.order.extract(mine.at);
  who.share = share;
  node.value() = key_of_party(who.party);
  mine.at = cluster.order.insert(std::move(node)).position;
}

holding* scheduler::find_holding(line& one, place account) {
  const auto at = std::ranges::lower_bound(one.holdings, account, {}, &holding::account);
  return at != one.holdings.end() && at->account == account ? &*at : nullptr;
}

void scheduler::change_room(pool& of, place account, const request& need, std::int64_t times) {
  if (need.empty() || times == 0) return;
  of.books->room.add(account, need, times);
  if (times > 0) {
    ++of.room_version;
    of.all_blocked = false;
    unsettle(of.self);
  } else if (std::ranges::find(of.named, account) != of.named.end()) {
    of.redraw = true;
    unsettle(of.self);
  }
}

void scheduler::came_back(pool& to, place account) {
  if (std::ranges::find(to.dirty, account) == to.dirty.end()) to.dirty.push_back(account);
  unsettle(to.self);
}

void scheduler::unsettle(place index) {
  if (pools_[index]->unsettled) return;
  pools_[index]->unsettled = true;
  unsettled_.push_back(index);
}

/// Of what weighs nothing a node has so much more.
void scheduler::count(place node, std::int64_t more) {
  auto key = lightest_.extract({weightless_[node], node});
  weightless_[node] += more;
  if (key.empty()) return;
  key.value().first = weightless_[node];
  lightest_.insert(std::move(key));
}

void scheduler::take(place index, place account, std::int64_t slots) {
  line& one = *lines_[index];
  pool& from = pool_of(one);
  auto at = std::ranges::lower_bound(one.holdings, account, {}, &holding::account);
  if (at == one.holdings.end() || at->account != account)
    at = one.holdings.insert(at, holding{.account = account});
  at->slots += slots;
  one.granted += slots;
  one.missing -= slots;
  one.turn = ++turn_;
  from.books->free.add(account, one.spec.need, -slots);
  // An actor does not come back by itself.
  if (one.spec.kind == line_kind::actors) change_room(from, account, one.spec.need, -slots);
  if (one.spec.pool == cluster_pool) {
    charge(one.spec.job, one.spec.need, slots);
    if (one.spec.need.empty()) count(account, slots);
  }
  if (!placed.empty() && placed.back().line == index && placed.back().account == account)
    placed.back().slots += slots;
  else
    placed.push_back({index, account, slots, {}});
}

std::int64_t scheduler::release(place index, place account, std::int64_t slots, bool idle) {
  line& one = *lines_[index];
  holding* const at = find_holding(one, account);
  if (at == nullptr) return 0;
  slots = std::min(slots, at->slots);
  if (slots <= 0) return 0;
  if (at->slots - slots < at->lent) reclaim(index, account, at->lent - (at->slots - slots));
  pool& to = pool_of(one);
  at->slots -= slots;
  at->recalled = std::max<std::int64_t>(0, at->recalled - slots);
  at->from_busy = std::max<std::int64_t>(0, at->from_busy - slots);
  if (at->slots == 0) one.holdings.erase(one.holdings.begin() + (at - one.holdings.data()));
  one.granted -= slots;
  to.books->free.add(account, one.spec.need, slots);
  if (one.spec.kind == line_kind::actors) change_room(to, account, one.spec.need, slots);
  if (one.spec.pool == cluster_pool) {
    charge(one.spec.job, one.spec.need, -slots);
    if (one.spec.need.empty()) count(account, -slots);
  }
  came_back(to, account);
  if (one.standing) {
    if (idle) one.standing_slots = std::min(one.standing_slots, one.granted);
    one.missing = one.standing_slots - one.granted;
  }
  if (one.waiting) {
    if (one.missing <= 0)
      leave(index);
    else
      refresh(index);
  } else if (one.missing > 0 && !one.infeasible) {
    enter(index, true);
  }
  return slots;
}

void scheduler::withdraw(place index) {
  line& one = *lines_[index];
  leave(index);
  one.missing = 0;
  one.standing_slots = 0;
  one.infeasible = false;
  while (!one.holdings.empty()) {
    const holding last = one.holdings.back();
    release(index, last.account, last.slots, true);
  }
  one.missing = 0;
}

void scheduler::lend(place index, place account, std::int64_t slots) {
  line& one = *lines_[index];
  holding* const at = find_holding(one, account);
  if (at == nullptr) return;
  slots = std::min(slots, at->slots - at->lent);
  if (slots <= 0) return;
  pool& to = pool_of(one);
  at->lent += slots;
  to.books->free.add(account, one.cpu, slots);
  // What a task that blocks keeps may wait for anything; an actor's is out of the room anyway.
  if (one.spec.kind == line_kind::actors)
    change_room(to, account, one.cpu, slots);
  else
    change_room(to, account, one.rest, -slots);
  came_back(to, account);
}

void scheduler::reclaim(place index, place account, std::int64_t slots) {
  line& one = *lines_[index];
  holding* const at = find_holding(one, account);
  if (at == nullptr) return;
  slots = std::min(slots, at->lent);
  if (slots <= 0) return;
  pool& from = pool_of(one);
  at->lent -= slots;
  from.books->free.add(account, one.cpu, -slots);
  if (one.spec.kind == line_kind::actors)
    change_room(from, account, one.cpu, -slots);
  else
    change_room(from, account, one.rest, slots);
  note_overdrawn(from, account);
}

void scheduler::note_overdrawn(pool& of, place account) {
  if (of.books->free.units(account, cpu_kind) >= 0) return;
  if (std::ranges::find(of.overdrawn, account) != of.overdrawn.end()) return;
  of.overdrawn.push_back(account);
  unsettle(of.self);
}

void scheduler::put_group(place index, const std::vector<place>& nodes) {
  line& one = *lines_[index];
  pool& cluster = *pools_[cluster_pool];
  for (place bundle = 0; bundle < nodes.size(); ++bundle) {
    if (!one.spec.fixed.empty() && one.spec.fixed[bundle] != nowhere) continue;
    const request& need = one.spec.shape->bundles[bundle].need;
    nodes_.free.add(nodes[bundle], need, -1);
    change_room(cluster, nodes[bundle], need, -1);
    charge(one.spec.job, need, 1);
  }
  one.missing -= 1;
  one.turn = ++turn_;
  placed.push_back({index, nowhere, 1, nodes});
}

void scheduler::give_back_bundle(place job, place node, const request& need) {
  pool& cluster = *pools_[cluster_pool];
  nodes_.free.add(node, need, 1);
  change_room(cluster, node, need, 1);
  charge(job, need, -1);
  came_back(cluster, node);
}

place scheduler::add_pool(place job) {
  auto fresh = std::make_unique<pool>();
  fresh->books = &bundles_;
  fresh->open = false;
  const place index = keep(pools_, free_pools_, std::move(fresh));
  pools_[index]->self = index;
  pools_[index]->account = index;
  pools_[index]->party = add_party(index, job);
  return index;
}

void scheduler::open_pool(place index, const request& total) {
  pool& one = *pools_[index];
  one.open = true;
  ++one.room_version;
  one.all_blocked = false;
  bundles_.total.add(one.account, total, 1);
  bundles_.room.add(one.account, total, 1);
  bundles_.free.add(one.account, total, 1);
  came_back(one, one.account);
}

void scheduler::shut(pool& one) {
  stop_drawing(one);
  bundles_.total.clear(one.account);
  bundles_.room.clear(one.account);
  bundles_.free.clear(one.account);
  one.open = false;
  one.redraw = false;
  one.dirty.clear();
  one.overdrawn.clear();
}

void scheduler::lose_pool(place index) { shut(*pools_[index]); }

void scheduler::close_pool(place index, place node) {
  pool& one = *pools_[index];
  shut(one);
  const std::vector<place> lines = one.lines;
  for (const place line : lines) {
    leave(line);
    lines_[line]->standing_slots = 0;
    lines_[line]->missing = lines_[line]->standing ? -lines_[line]->granted : 0;
    move_to_node(line, node);
  }
  remove_pool(index);
}

/// What the line has of its bundle becomes what it has of the bundle's node.
void scheduler::move_to_node(place index, place node) {
  line& one = *lines_[index];
  pool& cluster = *pools_[cluster_pool];
  pool& from = pool_of(one);
  std::erase(from.lines, index);
  one.infeasible = false;
  if (std::erase(from.standing, index) != 0) cluster.standing.push_back(index);
  one.spec.pool = cluster_pool;
  one.party = jobs_[one.spec.job].party;
  one.no_room_at = 0;
  for (holding& of : one.holdings) {
    of.account = node;
    nodes_.free.add(node, one.spec.need, -of.slots);
    nodes_.free.add(node, one.cpu, of.lent);
    if (one.spec.kind == line_kind::actors) {
      change_room(cluster, node, one.spec.need, -of.slots);
      change_room(cluster, node, one.cpu, of.lent);
    } else {
      change_room(cluster, node, one.rest, -of.lent);
    }
    charge(one.spec.job, one.spec.need, of.slots);
    if (one.spec.need.empty()) count(node, of.slots);
    if (of.recalled != 0) cluster.asked.emplace_back(index, node);
    note_overdrawn(cluster, node);
  }
}

void scheduler::remove_pool(place index) {
  pool& one = *pools_[index];
  free_parties_.push_back(one.party);
  parties_[one.party].reset();
  std::erase(unsettled_, index);
  pools_[index].reset();
  free_pools_.push_back(index);
}

}  // namespace ray::detail::head
