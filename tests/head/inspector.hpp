/// Looks into the head's books and checks their invariants from first principles: it adds up what
/// everyone has, and compares with what the tables say.
#pragma once

#include "head/machine.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <set>
#include <utility>
#include <vector>

/// Many millions of these are true: doctest is told of the others only.
#define RAY_EXPECT(...)                           \
  do {                                            \
    if (!(__VA_ARGS__)) FAIL_CHECK(#__VA_ARGS__); \
  } while (false)

namespace ray::detail::head {

struct inspector {
  static void check(const machine& it) {
    check_accounts(it);
    check_queues(it.scheduler_);
    check_drawing(it.scheduler_);
    check_weightless(it.scheduler_);
    check_jobs(it);
    check_names(it);
  }

  /// Lines that were looked at so far: the measure of work.
  static std::uint64_t looked_at(const machine& it) { return it.scheduler_.looked_at(); }
  static std::size_t lines(const machine& it) {
    return static_cast<std::size_t>(
        std::ranges::count_if(it.classes_, [](const auto& one) { return one.live; }));
  }
  static std::size_t pools(const machine& it) {
    return it.scheduler_.pools_.size() - it.scheduler_.free_pools_.size();
  }
  static bool someone_draws(const machine& it) {
    return it.scheduler_.drawer(cluster_pool) != nowhere;
  }
  static std::size_t records(const machine& it) {
    return it.actors_.size() + it.actor_names_.size() + it.groups_.size();
  }
  static std::size_t jobs(const machine& it) { return it.scheduler_.live_jobs_; }

  /// What is asked back now, by class and node.
  static std::map<std::pair<class_id, node_id>, std::pair<std::int64_t, std::int64_t>> recalled(
      const machine& it) {
    std::map<std::pair<class_id, node_id>, std::pair<std::int64_t, std::int64_t>> all;
    for (place cls = 0; cls < it.classes_.size(); ++cls) {
      if (!it.classes_[cls].live) continue;
      for (const holding& of : it.scheduler_.holdings(cls))
        if (of.recalled != 0)
          all[{it.id_of(cls), it.nodes_[it.node_of(cls, of.account)].id}] = {of.recalled,
                                                                             of.from_busy};
    }
    return all;
  }

 private:
  using sums = std::map<std::pair<place, kind>, std::int64_t>;

  static void add(sums& to, place account, const request& need, std::int64_t times) {
    for (const quantity& part : need) to[{account, part.what}] += part.units * times;
  }

  static void check_accounts(const machine& it) {
    const scheduler& books = it.scheduler_;
    sums node_used, node_pinned, bundle_used, bundle_pinned;
    for (const auto& line : books.lines_) {
      if (!line) continue;
      std::int64_t slots = 0;
      for (const holding& of : line->holdings) {
        const bool cluster = line->spec.pool == cluster_pool;
        sums& used = cluster ? node_used : bundle_used;
        sums& pinned = cluster ? node_pinned : bundle_pinned;
        RAY_EXPECT(of.slots > 0);
        RAY_EXPECT(of.lent >= 0);
        RAY_EXPECT(of.lent <= of.slots);
        slots += of.slots;
        add(used, of.account, line->spec.need, of.slots);
        add(used, of.account, line->cpu, -of.lent);
        if (line->spec.kind == line_kind::actors) {
          add(pinned, of.account, line->spec.need, of.slots);
          add(pinned, of.account, line->cpu, -of.lent);
        } else {
          add(pinned, of.account, line->rest, of.lent);
        }
      }
      RAY_EXPECT(slots == line->granted);
      if (line->standing) RAY_EXPECT(line->missing == line->standing_slots - line->granted);
    }
    for (const auto& [id, group] : it.groups_) {
      std::size_t placed = 0;
      for (const auto& bundle : group.bundles) {
        if (bundle.node == nowhere) continue;
        ++placed;
        add(node_used, bundle.node, bundle.need, 1);
        add(node_pinned, bundle.node, bundle.need, 1);
      }
      // All or nothing, but for a group that has lost some and waits for others.
      const bool lost_some = group.line != nowhere && placed != 0;
      if (!lost_some) RAY_EXPECT(placed == 0 || placed == group.bundles.size());
      if (group.line == nowhere) RAY_EXPECT(placed == group.bundles.size());
      check_strategy(group, placed);
    }
    check_tables(books.nodes_, *books.pools_[cluster_pool], books, node_used, node_pinned);
    for (const auto& pool : books.pools_)
      if (pool && pool->self != cluster_pool)
        check_tables(books.bundles_, *pool, books, bundle_used, bundle_pinned);
  }

  template <typename Group>
  static void check_strategy(const Group& group, std::size_t placed) {
    std::set<place> nodes;
    for (const auto& bundle : group.bundles)
      if (bundle.node != nowhere) nodes.insert(bundle.node);
    if (group.shape.strategy == group_strategy::strict_pack) RAY_EXPECT(nodes.size() <= 1);
    if (group.shape.strategy == group_strategy::strict_spread) RAY_EXPECT(nodes.size() == placed);
  }

  template <typename Pool>
  static void check_tables(const accounts& tables, const Pool& pool, const scheduler& books,
                           const sums& used, const sums& pinned) {
    const place first = pool.self == cluster_pool ? 0 : pool.account;
    const place last = pool.self == cluster_pool ? tables.total.width() : pool.account + 1;
    const auto of = [](const sums& all, place account, kind what) {
      const auto found = all.find({account, what});
      return found == all.end() ? 0 : found->second;
    };
    for (place account = first; account < last; ++account) {
      const request held = books.held_at(pool, account);
      for (kind what = 0; what < tables.total.kinds(); ++what) {
        const std::int64_t total = tables.total.units(account, what);
        const std::int64_t left = tables.free.units(account, what) + units_of(held, what);
        RAY_EXPECT(left == total - of(used, account, what));
        RAY_EXPECT(tables.room.units(account, what) == total - of(pinned, account, what));
        // Nothing is given out twice. Only tasks that took lent CPUs back go over.
        const bool over = std::ranges::find(pool.overdrawn, account) != pool.overdrawn.end();
        if (what != cpu_kind) RAY_EXPECT(left >= 0);
        if (left < 0 && !pool.standing.empty()) RAY_EXPECT(over);
      }
    }
  }

  static void check_queues(const scheduler& books) {
    RAY_EXPECT(books.unsettled_.empty());
    for (const auto& pool : books.pools_) {
      if (!pool) continue;
      RAY_EXPECT(pool->dirty.empty() || pool->waiting == 0 || !pool->open);
      RAY_EXPECT(!pool->redraw);
      std::size_t waiting = 0, without_cpu = 0, fresh = 0;
      for (const auto& key : pool->order) {
        const auto& party = *books.parties_[key.party];
        RAY_EXPECT(&*party.at == &key);
        RAY_EXPECT(key.share == books.key_of_party(key.party).share);
        RAY_EXPECT(!party.lines.empty());
        for (const auto& entry : party.lines) {
          const auto& line = *books.lines_[entry.line];
          const auto now = books.key_of(entry.line);
          RAY_EXPECT(line.waiting);
          RAY_EXPECT(!line.infeasible);
          RAY_EXPECT(line.missing > 0);
          RAY_EXPECT(line.spec.pool == pool->self);
          RAY_EXPECT(now.usage == entry.usage && now.turn == entry.turn);
          RAY_EXPECT(!fits_now(books, *pool, line));
          ++waiting;
          if (line.cpu.empty()) ++without_cpu;
          if (line.fresh) ++fresh;
        }
      }
      RAY_EXPECT(waiting == pool->waiting);
      RAY_EXPECT(without_cpu == pool->waiting_without_cpu);
      RAY_EXPECT(fresh == pool->fresh);
    }
    for (const auto& line : books.lines_)
      if (line && line->missing > 0) RAY_EXPECT(line->waiting || line->infeasible);
  }

  template <typename Pool, typename Line>
  static bool fits_now(const scheduler& books, const Pool& pool, const Line& line) {
    if (!pool.open || line.spec.kind == line_kind::groups) return false;
    if (pool.self != cluster_pool) return pool.books->free.fits(pool.account, line.spec.need);
    if (line.spec.need.empty()) return books.acceptable(line) > 0;
    return books.fit_from(line, 0) != nowhere;
  }

  static void check_drawing(const scheduler& books) {
    for (const auto& pool : books.pools_) {
      if (!pool || !pool->open) continue;
      if (pool->drawer == nowhere) {
        RAY_EXPECT(pool->named.empty());
        // Nobody draws only if nobody who waits could.
        for (const auto& key : pool->order)
          for (const auto& entry : books.parties_[key.party]->lines)
            RAY_EXPECT(!could_draw(books, *pool, *books.lines_[entry.line]));
        continue;
      }
      const auto& line = *books.lines_[pool->drawer];
      RAY_EXPECT(line.waiting);
      RAY_EXPECT(!books.covered(*pool));
      if (line.spec.kind != line_kind::groups) {
        RAY_EXPECT(pool->named.size() == 1);
        RAY_EXPECT(pool->books->room.fits(pool->named.front(), line.spec.need));
      }
    }
  }

  template <typename Pool, typename Line>
  static bool could_draw(const scheduler& books, const Pool& pool, const Line& line) {
    if (line.spec.kind == line_kind::groups) return false;  // the planner's affair
    if (pool.self != cluster_pool) return pool.books->room.fits(pool.account, line.spec.need);
    return books.account_to_draw_on(line) != nowhere;
  }

  static void check_weightless(const scheduler& books) {
    std::map<place, std::int64_t> counts;
    for (const auto& line : books.lines_) {
      if (!line || !line->spec.need.empty() || line->spec.pool != cluster_pool) continue;
      for (const holding& of : line->holdings) counts[of.account] += of.slots;
    }
    for (const auto& [count, node] : books.lightest_) {
      RAY_EXPECT(count == counts[node]);
      RAY_EXPECT(books.alive_[node]);
    }
  }

  static void check_jobs(const machine& it) {
    const scheduler& books = it.scheduler_;
    std::map<place, request> used;
    for (const auto& line : books.lines_)
      if (line && line->spec.pool == cluster_pool && line->spec.kind != line_kind::groups)
        add_to(used[line->spec.job], line->spec.need, line->granted);
    for (const auto& [id, group] : it.groups_)
      for (const auto& bundle : group.bundles)
        if (bundle.node != nowhere) add_to(used[it.jobs_.at(group.job).books], bundle.need);
    for (place job = 0; job < books.jobs_.size(); ++job) {
      if (!books.jobs_[job].live) continue;
      for (kind what = 0; what < books.jobs_[job].used.size(); ++what)
        RAY_EXPECT(books.jobs_[job].used[what] == units_of(used[job], what));
    }
  }

  static void check_names(const machine& it) {
    for (const auto& [name, id] : it.actor_names_) {
      const auto actor = it.actors_.find(id);
      REQUIRE(actor != it.actors_.end());
      RAY_EXPECT(!actor->second.ended);
      RAY_EXPECT(actor->second.name == name.second);
    }
  }
};

}  // namespace ray::detail::head
