/// The lines that wait, and serving them in their order.
#include "head/scheduler.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace ray::detail::head {

bool scheduler::line_key::operator<(const line_key& other) const {
  if (priority != other.priority) return priority > other.priority;
  return std::tie(usage, turn, line) < std::tie(other.usage, other.turn, other.line);
}

bool scheduler::party_key::operator<(const party_key& other) const {
  if (priority != other.priority) return priority > other.priority;
  return std::tie(share, turn, party) < std::tie(other.share, other.turn, other.party);
}

scheduler::line_key scheduler::key_of(place index) const {
  const line& one = *lines_[index];
  const bool each_is_new = one.spec.kind != line_kind::tasks;
  return {one.spec.priority, each_is_new ? 0.0 : one.slot_share * static_cast<double>(one.granted),
          one.turn, index};
}

scheduler::party_key scheduler::key_of_party(place index) const {
  const party& one = *parties_[index];
  const job& who = jobs_[one.job];
  // Only one job has lines in a bundle.
  const double share = one.pool == cluster_pool ? who.share : 0;
  return {who.priority, share, one.turn, index};
}

void scheduler::want(place index, std::int64_t missing) {
  line& one = *lines_[index];
  // Who gave up and asks anew is to hear of it again.
  if (one.spec.kind == line_kind::tasks && missing <= one.missing) one.infeasible = false;
  one.missing = missing;
  now_missing(index);
}

void scheduler::want_standing(place index, std::int64_t slots) {
  line& one = *lines_[index];
  if (!one.standing) {
    one.standing = true;
    pool_of(one).standing.push_back(index);
  }
  one.standing_slots = slots;
  one.missing = slots - one.granted;
  now_missing(index);
}

void scheduler::now_missing(place index) {
  line& one = *lines_[index];
  if (one.missing <= 0) {
    leave(index);
    one.infeasible = false;
    return;
  }
  if (one.waiting || one.infeasible) return;  // it fits nowhere, whatever the number
  if (!feasible(one)) {
    one.infeasible = true;
    infeasible.push_back(index);
    return;
  }
  // What has come back meanwhile is for those who wait first.
  const bool first = unsettled_.empty();
  if (first) place_now(index);
  if (one.missing > 0) enter(index, !first);
}

/// Whether some node, or the nodes together, could ever satisfy it, with nothing else there.
bool scheduler::feasible(line& one) {
  if (one.spec.pool != cluster_pool || one.feasible_at == total_version_) return true;
  bool can = false;
  if (one.spec.kind == line_kind::groups) {
    can = feasible_group(one);
  } else if (one.spec.need.empty()) {
    can = acceptable(one) > 0;
  } else if (one.spec.where.any) {
    can = nodes_.total.find(one.spec.need) != nowhere;
  } else {
    can = std::ranges::any_of(one.spec.where.nodes,
                              [&](place node) { return nodes_.total.fits(node, one.spec.need); });
  }
  if (can) one.feasible_at = total_version_;
  return can;
}

bool scheduler::feasible_group(const line& one) {
  std::vector<place> nodes = one.spec.fixed;
  nodes.resize(one.spec.shape->bundles.size(), nowhere);
  const std::vector<place> fixed = nodes;
  const auto take_fixed = [&](std::int64_t times) {
    for (place bundle = 0; bundle < fixed.size(); ++bundle)
      if (fixed[bundle] != nowhere)
        nodes_.total.add(fixed[bundle], one.spec.shape->bundles[bundle].need, times);
  };
  take_fixed(-1);
  const bool can = planner(nodes_.total, *one.spec.shape, nodes).thorough();
  take_fixed(1);
  return can;
}

/// How many nodes the line may use at all.
std::int64_t scheduler::acceptable(const line& one) const {
  return static_cast<std::int64_t>(one.spec.where.any ? lightest_.size()
                                                      : one.spec.where.nodes.size());
}

bool scheduler::accepts(const line& one, place account) const {
  return one.spec.pool != cluster_pool || one.spec.where.accepts(account);
}

/// The first node from `from` on that has room for one now.
place scheduler::fit_from(const line& one, place from) const {
  if (one.spec.where.any) return nodes_.free.find(one.spec.need, from);
  const std::vector<place>& nodes = one.spec.where.nodes;
  for (auto at = std::ranges::lower_bound(nodes, from); at != nodes.end(); ++at)
    if (nodes_.free.fits(*at, one.spec.need)) return *at;
  return nowhere;
}

/// As many as fit now. Nobody who waits is wronged: it fits nowhere, and what is held for the
/// drawer is not free.
void scheduler::place_now(place index) {
  line& one = *lines_[index];
  if (one.spec.pool != cluster_pool) {
    if (pool_of(one).open) place_on(index, pool_of(one).account);
    return;
  }
  if (one.spec.kind == line_kind::groups) {
    while (one.missing > 0 && place_group(index)) {
    }
    return;
  }
  if (one.spec.need.empty()) return place_weightless(index);
  if (one.spec.preferred != nowhere) place_on(index, one.spec.preferred);
  if (one.spec.spread) return place_spread(index);
  place node = 0;
  while (one.missing > 0 && (node = fit_from(one, node)) != nowhere) {
    place_on(index, node);
    ++node;
  }
}

void scheduler::place_on(place index, place account) {
  line& one = *lines_[index];
  const std::int64_t slots =
      std::min(one.missing, pool_of(one).books->free.times(account, one.spec.need));
  if (slots > 0) take(index, account, slots);
}

/// An equal part on every node, and what is left over one by one, going on where it ended last
/// time.
void scheduler::place_spread(place index) {
  line& one = *lines_[index];
  const std::int64_t nodes = std::max<std::int64_t>(1, acceptable(one));
  const std::int64_t part = (one.missing + nodes - 1) / nodes;
  while (one.missing > 0) {
    place node = fit_from(one, next_spread_);
    if (node == nowhere) node = fit_from(one, 0);
    if (node == nowhere) return;
    take(index, node, std::min({part, one.missing, nodes_.free.times(node, one.spec.need)}));
    next_spread_ = node + 1;
  }
}

/// What needs no resources goes where least of its kind is.
void scheduler::place_weightless(place index) {
  line& one = *lines_[index];
  const std::int64_t nodes = acceptable(one);
  if (nodes == 0) return;
  const std::int64_t part = (one.missing + nodes - 1) / nodes;
  const auto lighter = [&](place left, place right) {
    return std::tie(weightless_[left], left) < std::tie(weightless_[right], right);
  };
  while (one.missing > 0) {
    const place node = one.spec.preferred != nowhere ? one.spec.preferred
                       : one.spec.where.any
                           ? lightest_.begin()->second
                           : *std::ranges::min_element(one.spec.where.nodes, lighter);
    take(index, node, std::min(part, one.missing));
  }
}

bool scheduler::place_group(place index) {
  const line& one = *lines_[index];
  std::vector<place> nodes = one.spec.fixed;
  nodes.resize(one.spec.shape->bundles.size(), nowhere);
  if (!planner(nodes_.free, *one.spec.shape, nodes).quick(next_spread_)) return false;
  next_spread_ = nodes.back() + 1;
  put_group(index, nodes);
  return true;
}

/// `fresh`: it was not tried yet, so that the next pass is to look everywhere for it.
void scheduler::enter(place index, bool fresh) {
  line& one = *lines_[index];
  pool& here = pool_of(one);
  party& mine = *parties_[one.party];
  one.waiting = true;
  one.turn = ++turn_;
  one.at = mine.lines.insert(key_of(index)).first;
  if (mine.lines.size() == 1) {
    mine.turn = ++turn_;
    mine.at = here.order.insert(key_of_party(one.party)).first;
  }
  ++here.waiting;
  one.fresh = fresh;
  if (fresh) ++here.fresh;
  if (one.cpu.empty()) ++here.waiting_without_cpu;
  here.all_blocked = false;
  unsettle(here.self);
}

void scheduler::leave(place index) {
  line& one = *lines_[index];
  if (!one.waiting) return;
  pool& here = pool_of(one);
  party& mine = *parties_[one.party];
  if (here.drawer == index) stop_drawing(here);
  one.waiting = false;
  mine.lines.erase(one.at);
  if (mine.lines.empty()) here.order.erase(mine.at);
  --here.waiting;
  if (one.fresh) --here.fresh;
  if (one.cpu.empty()) --here.waiting_without_cpu;
}

/// Puts a line that waits where its key now says.
void scheduler::refresh(place index) {
  line& one = *lines_[index];
  if (!one.waiting) return;
  party& mine = *parties_[one.party];
  auto node = mine.lines.extract(one.at);
  node.value() = key_of(index);
  one.at = mine.lines.insert(std::move(node)).position;
}

void scheduler::refresh_party(place index) {
  party& one = *parties_[index];
  if (one.lines.empty()) return;
  pool& here = *pools_[one.pool];
  auto node = here.order.extract(one.at);
  node.value() = key_of_party(index);
  one.at = here.order.insert(std::move(node)).position;
}

/// A line that waits has had its turn.
void scheduler::served(place index) {
  line& one = *lines_[index];
  if (one.missing <= 0)
    leave(index);
  else
    refresh(index);
}

void scheduler::settle() {
  while (!unsettled_.empty()) {
    const place index = unsettled_.back();
    unsettled_.pop_back();
    pools_[index]->unsettled = false;
    settle_pool(*pools_[index]);
  }
}

void scheduler::settle_pool(pool& here) {
  while (true) {
    if (here.redraw) renew_drawing(here);
    if (here.waiting == 0 || !here.open) {
      here.dirty.clear();
    } else {
      // Who is to draw from now on comes before others are served with what has come back.
      choose_drawer(here);
      if (!here.dirty.empty() || here.fresh != 0) serve(here);
      choose_drawer(here);
    }
    if (here.dirty.empty() && !here.redraw) break;
  }
  update_recalls(here);
}

/// One pass over those that wait, in order, one slot a turn. Resources only shrink meanwhile, so
/// what did not fit need not be asked again; what was served stands further back and comes up
/// again.
void scheduler::serve(pool& here) {
  ++pass_;
  if (here.drawer != nowhere) serve_drawer(here);
  for (auto at = here.order.begin(); at != here.order.end() && !exhausted(here);) {
    const place index = at->party;
    const auto next = std::next(at);
    if (!serve_party(here, *parties_[index])) {
      at = next;
      continue;
    }
    if (parties_[index]->lines.empty()) {
      at = next;
      continue;
    }
    parties_[index]->turn = ++turn_;
    refresh_party(index);
    at = next != here.order.begin() && std::prev(next)->party == index ? std::prev(next) : next;
  }
  here.dirty.clear();
}

/// Serves the first line of the party that can be, from where this pass has come.
bool scheduler::serve_party(pool& here, party& who) {
  if (who.pass != pass_) {
    who.pass = pass_;
    who.cursor = who.lines.begin();
  }
  while (who.cursor != who.lines.end()) {
    const place index = who.cursor->line;
    ++looked_at_;
    const auto next = std::next(who.cursor);
    if (index == here.drawer || !place_one(here, index)) {
      who.cursor = next;
      continue;
    }
    served(index);
    const bool before_next =
        lines_[index]->waiting && next != who.lines.begin() && std::prev(next)->line == index;
    who.cursor = before_next ? std::prev(next) : next;
    return true;
  }
  return false;
}

/// Whether what came back has been given away, as far as can be told without asking each line.
bool scheduler::exhausted(const pool& here) const {
  if (here.waiting_without_cpu != 0 || here.fresh != 0) return false;
  return std::ranges::none_of(
      here.dirty, [&](place account) { return here.books->free.units(account, cpu_kind) > 0; });
}

bool scheduler::place_one(pool& here, place index) {
  line& one = *lines_[index];
  if (one.spec.kind == line_kind::groups) {
    if ((one.fresh || some_bundle_fits(here, one)) && place_group(index)) return true;
  } else if (one.spec.need.empty()) {
    place_now(index);  // there is always room, on any node
    if (one.missing <= 0) return true;
  } else if (const place account = find_fit(here, one); account != nowhere) {
    take(index, account, 1);
    return true;
  }
  looked_everywhere(here, one);
  return false;
}

void scheduler::looked_everywhere(pool& here, line& one) {
  if (std::exchange(one.fresh, false)) --here.fresh;
}

/// An account that has room for one now: of those that have got something back, unless these are
/// many or the line was not looked at before.
place scheduler::find_fit(const pool& here, const line& one) const {
  const auto fits = [&](place account) {
    return accepts(one, account) && here.books->free.fits(account, one.spec.need);
  };
  if (here.self != cluster_pool) return fits(here.account) ? here.account : nowhere;
  if (one.fresh || here.dirty.size() > 8) {
    const place liked = one.spec.preferred;
    return liked != nowhere && fits(liked) ? liked : fit_from(one, 0);
  }
  const auto account = std::ranges::find_if(here.dirty, fits);
  return account == here.dirty.end() ? nowhere : *account;
}

/// A plan that did not exist before uses something that has come back.
bool scheduler::some_bundle_fits(const pool& here, const line& one) const {
  return std::ranges::any_of(here.dirty, [&](place node) {
    return std::ranges::any_of(one.spec.shape->bundles, [&](const bundle_need& bundle) {
      return bundle.where.accepts(node) && here.books->free.fits(node, bundle.need);
    });
  });
}

void scheduler::look_again() {
  for (place index = 0; index < lines_.size(); ++index) {
    if (!lines_[index] || !lines_[index]->infeasible) continue;
    if (!feasible(*lines_[index])) continue;
    lines_[index]->infeasible = false;
    if (lines_[index]->missing > 0) enter(index, true);
  }
}

void scheduler::find_infeasible() {
  for (place index = 0; index < lines_.size(); ++index) {
    if (!lines_[index] || !lines_[index]->waiting || feasible(*lines_[index])) continue;
    leave(index);
    lines_[index]->infeasible = true;
    infeasible.push_back(index);
  }
}

}  // namespace ray::detail::head
