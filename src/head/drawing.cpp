/// Who draws, what is held for it, and what is recalled.
///
/// Invariants. A drawer waits, and its accounts have room for it. What is held has been taken out
/// of `free` of these accounts, so every other request sees only what is beside; the drawer has its
/// whole as soon as nothing there is below zero.
#include "head/scheduler.hpp"

#include <algorithm>

namespace ray::detail::head {

/// Takes the drawer's request out of what is free there, or gives it back (-1).
void scheduler::hold(pool& here, std::int64_t times) {
  const line& one = *lines_[here.drawer];
  if (one.spec.kind != line_kind::groups) {
    here.books->free.add(here.named.front(), one.spec.need, -times);
    return;
  }
  for (place bundle = 0; bundle < here.named.size(); ++bundle)
    if (one.spec.fixed.empty() || one.spec.fixed[bundle] == nowhere)
      here.books->free.add(here.named[bundle], one.spec.shape->bundles[bundle].need, -times);
}

bool scheduler::covered(const pool& here) const {
  const line& one = *lines_[here.drawer];
  const auto paid = [&](place account, const request& need) {
    return std::ranges::all_of(need, [&](const quantity& part) {
      return here.books->free.units(account, part.what) >= 0;
    });
  };
  if (one.spec.kind != line_kind::groups) return paid(here.named.front(), one.spec.need);
  for (place bundle = 0; bundle < here.named.size(); ++bundle)
    if (!paid(here.named[bundle], one.spec.shape->bundles[bundle].need)) return false;
  return true;
}

void scheduler::serve_drawer(pool& here) {
  const place index = here.drawer;
  line& one = *lines_[index];
  ++looked_at_;
  const bool placed_it = covered(here) ? place_on_held(here) : place_elsewhere(here);
  if (placed_it)
    served(index);
  else
    looked_everywhere(here, one);
}

/// Exactly what was held becomes what the drawer has.
bool scheduler::place_on_held(pool& here) {
  const place index = here.drawer;
  hold(here, -1);
  const std::vector<place> named = std::move(here.named);
  forget_drawer(here);
  if (lines_[index]->spec.kind == line_kind::groups)
    put_group(index, named);
  else
    take(index, named.front(), 1);
  return true;
}

/// It may fit on other accounts by now, or as a group in another way. What was held comes free.
bool scheduler::place_elsewhere(pool& here) {
  const place index = here.drawer;
  const line& one = *lines_[index];
  if (one.spec.kind != line_kind::groups) {
    const place account = find_fit(here, one);
    if (account == nowhere) return false;
    stop_drawing(here);
    take(index, account, 1);
    return true;
  }
  if (!one.fresh && !some_bundle_fits(here, one)) return false;
  hold(here, -1);
  if (!place_group(index)) {
    hold(here, 1);
    return false;
  }
  const std::vector<place> named = std::move(here.named);
  forget_drawer(here);
  for (const place node : named) came_back(here, node);
  return true;
}

void scheduler::forget_drawer(pool& here) {
  here.drawer = nowhere;
  here.named.clear();
  here.redraw = false;
  here.all_blocked = false;
}

void scheduler::start_drawing(pool& here, place index, std::vector<place> named) {
  here.drawer = index;
  here.named = std::move(named);
  here.redraw = false;
  hold(here, 1);
  // Found by a thorough plan, it may fit although the quick one did not.
  if (covered(here)) came_back(here, here.named.front());
}

void scheduler::stop_drawing(pool& here) {
  if (here.drawer == nowhere) return;
  hold(here, -1);
  const std::vector<place> named = std::move(here.named);
  forget_drawer(here);
  for (const place account : named) came_back(here, account);
}

/// An account of the drawer's has lost room. It names others at once, if there are any, before
/// anyone else can have what was held.
void scheduler::renew_drawing(pool& here) {
  here.redraw = false;
  if (here.drawer == nowhere || still_has_room(here)) return;
  const place index = here.drawer;
  std::vector<place> named;
  const bool found = find_accounts(here, index, named);
  stop_drawing(here);
  if (found) start_drawing(here, index, std::move(named));
}

bool scheduler::still_has_room(pool& here) {
  const line& one = *lines_[here.drawer];
  if (one.spec.kind != line_kind::groups)
    return here.books->room.fits(here.named.front(), one.spec.need);
  const auto add = [&](std::int64_t times) {
    for (place bundle = 0; bundle < here.named.size(); ++bundle)
      if (one.spec.fixed.empty() || one.spec.fixed[bundle] == nowhere)
        here.books->room.add(here.named[bundle], one.spec.shape->bundles[bundle].need, times);
  };
  add(-1);
  bool enough = true;
  for (place bundle = 0; bundle < here.named.size(); ++bundle)
    for (const quantity& part : one.spec.shape->bundles[bundle].need)
      enough = enough && here.books->room.units(here.named[bundle], part.what) >= 0;
  add(1);
  return enough;
}

/// The first in order who could draw does; so who comes to be first takes over.
void scheduler::choose_drawer(pool& here) {
  if (here.drawer == nowhere && here.all_blocked) return;
  for (const party_key& who : here.order) {
    for (const line_key& next : parties_[who.party]->lines) {
      if (next.line == here.drawer) return;
      line& one = *lines_[next.line];
      if (one.no_room_at == here.room_version) continue;
      if (here.drawer != nowhere && !outranks(next, here.drawer)) break;
      ++looked_at_;
      std::vector<place> named;
      if (find_accounts(here, next.line, named)) {
        stop_drawing(here);
        start_drawing(here, next.line, std::move(named));
        return;
      }
      one.no_room_at = here.room_version;
    }
  }
  if (here.drawer == nowhere) here.all_blocked = true;
}

/// Where the line would fit if all that ends by itself had ended.
bool scheduler::find_accounts(pool& here, place index, std::vector<place>& named) {
  const line& one = *lines_[index];
  if (one.spec.kind == line_kind::groups) {
    named = one.spec.fixed;
    named.resize(one.spec.shape->bundles.size(), nowhere);
    return planner(here.books->room, *one.spec.shape, named).thorough(next_spread_);
  }
  place account = here.account;
  if (here.self == cluster_pool)
    account = account_to_draw_on(one);
  else if (!here.books->room.fits(account, one.spec.need))
    account = nowhere;
  if (account == nowhere) return false;
  named.assign(1, account);
  return true;
}

/// The node with room that lacks least. The one with most of what the request can find on fewest
/// nodes is nearly always it, and found by a descent.
place scheduler::account_to_draw_on(const line& one) const {
  const request& need = one.spec.need;
  if (need.empty()) return nowhere;  // it is only waiting to be looked at
  const auto has_room = [&](place node) {
    return one.spec.where.accepts(node) && nodes_.room.fits(node, need);
  };
  const kind rare = need.back().what > memory_kind  ? need.back().what
                    : units_of(need, gpu_kind) != 0 ? gpu_kind
                                                    : need.front().what;
  if (const place richest = nodes_.free.richest(rare); has_room(richest)) return richest;
  place best = nowhere;
  double least = 0;
  const auto consider = [&](place node) {
    if (!has_room(node)) return;
    double lacks = 0;
    for (const quantity& part : need) {
      const auto shortage = part.units - nodes_.free.units(node, part.what);
      if (shortage > 0) lacks += static_cast<double>(shortage) / static_cast<double>(part.units);
    }
    if (best != nowhere && lacks >= least) return;
    best = node;
    least = lacks;
  };
  if (one.spec.where.any)
    for (place node = nodes_.room.find(need); node != nowhere;
         node = nodes_.room.find(need, node + 1))
      consider(node);
  else
    for (const place node : one.spec.where.nodes) consider(node);
  return best;
}

/// Whether one that is further ahead takes over. Not between jobs of one priority: their shares
/// change with every grant, and one that needs much would never come to have it.
bool scheduler::outranks(const line_key& left, place right) const {
  const line_spec& one = lines_[left.line]->spec;
  const line_spec& other = lines_[right]->spec;
  if (one.job != other.job) return jobs_[one.job].priority > jobs_[other.job].priority;
  if (one.priority != other.priority) return one.priority > other.priority;
  return left.usage < key_of(right).usage;
}

/// Whether the drawer's need goes before tasks that run on `slots` of what `from` has. Among equals
/// the one that has more gives, and only as much as leaves it with no less than the drawer has:
/// what it would be driven below it would take back at once.
bool scheduler::may_recall(place drawer, place from, std::int64_t slots) const {
  const line& one = *lines_[drawer];
  const line& other = *lines_[from];
  const job& mine = jobs_[one.spec.job];
  const job& theirs = jobs_[other.spec.job];
  const double given = other.slot_share * static_cast<double>(slots);
  if (mine.priority != theirs.priority) return mine.priority > theirs.priority;
  if (one.spec.job != other.spec.job) return mine.share == 0 || mine.share < theirs.share - given;
  if (one.spec.priority != other.spec.priority) return one.spec.priority > other.spec.priority;
  // Slots are counted, so that rounding decides nothing.
  return key_of(drawer).usage <= other.slot_share * static_cast<double>(other.granted - slots);
}

request scheduler::held_at(const pool& here, place account) const {
  request sum;
  if (here.drawer == nowhere) return sum;
  const line& one = *lines_[here.drawer];
  for (place bundle = 0; bundle < here.named.size(); ++bundle) {
    if (here.named[bundle] != account) continue;
    if (one.spec.kind != line_kind::groups)
      add_to(sum, one.spec.need);
    else if (one.spec.fixed.empty() || one.spec.fixed[bundle] == nowhere)
      add_to(sum, one.spec.shape->bundles[bundle].need);
  }
  return sum;
}

request scheduler::held(place node) const { return held_at(*pools_[cluster_pool], node); }

/// What standing lines are asked to give back: what the drawer's accounts lack, and what was taken
/// back by tasks that had lent it.
void scheduler::update_recalls(pool& here) {
  if (here.standing.empty() && here.overdrawn.empty()) return;
  if (here.drawer == nowhere && here.asked.empty() && here.overdrawn.empty()) return;
  std::vector<place> concerned = here.named;
  concerned.insert(concerned.end(), here.overdrawn.begin(), here.overdrawn.end());
  for (const auto& asked : here.asked) concerned.push_back(asked.second);
  std::ranges::sort(concerned);
  const auto repeated = std::ranges::unique(concerned);
  concerned.erase(repeated.begin(), repeated.end());
  for (const place account : concerned) ask_back(here, account);
  std::erase_if(here.overdrawn, [&](place account) {
    return here.books->free.units(account, cpu_kind) + units_of(held_at(here, account), cpu_kind) >=
           0;
  });
  std::erase_if(here.asked, [&](const auto& asked) {
    const holding* of = find_holding(*lines_[asked.first], asked.second);
    return of == nullptr || of->recalled == 0;
  });
}

void scheduler::ask_back(pool& here, place account) {
  const request held = held_at(here, account);
  std::vector<place> from;
  for (const place index : here.standing)
    if (find_holding(*lines_[index], account) != nullptr) from.push_back(index);
  if (from.empty()) return;
  std::ranges::sort(from, [&](place left, place right) {
    const line_key one = key_of(left);
    const line_key other = key_of(right);
    return std::tie(one.priority, other.usage, left) < std::tie(other.priority, one.usage, right);
  });
  request lacking;    // with what is held
  request overdrawn;  // without
  for (kind what = 0; what < here.books->free.kinds(); ++what) {
    const std::int64_t units = here.books->free.units(account, what);
    if (units < 0) lacking.push_back({what, -units});
    const std::int64_t own = units + units_of(held, what);
    if (own < 0) overdrawn.push_back({what, -own});
  }
  const auto slots_for = [](const request& short_of, const request& need) {
    std::int64_t slots = 0;
    for (const quantity& part : short_of)
      if (const auto units = units_of(need, part.what); units > 0)
        slots = std::max(slots, (part.units + units - 1) / units);
    return slots;
  };
  const auto reduce = [](request& short_of, const request& need, std::int64_t slots) {
    for (quantity& part : short_of)
      part.units = std::max<std::int64_t>(0, part.units - slots * units_of(need, part.what));
  };
  for (const place index : from) {
    line& one = *lines_[index];
    const holding& of = *find_holding(one, account);
    std::int64_t slots = std::min(of.slots - of.lent, slots_for(lacking, one.spec.need));
    const std::int64_t owed = std::min(of.slots - of.lent, slots_for(overdrawn, one.spec.need));
    if (index == here.drawer) slots = owed;
    reduce(lacking, one.spec.need, slots);
    reduce(overdrawn, one.spec.need, owed);
    const bool all = here.drawer != nowhere && may_recall(here.drawer, index, slots);
    set_recall(here, index, account, slots, all ? slots : std::min(slots, owed));
  }
}

void scheduler::set_recall(pool& here, place index, place account, std::int64_t slots,
                           std::int64_t from_busy) {
  holding& of = *find_holding(*lines_[index], account);
  if (of.recalled == slots && of.from_busy == from_busy) return;
  const std::pair<place, place> entry{index, account};
  if (std::ranges::find(here.asked, entry) == here.asked.end()) here.asked.push_back(entry);
  of.recalled = slots;
  of.from_busy = from_busy;
  recalls.push_back({index, account, slots, from_busy});
}

}  // namespace ray::detail::head
