/// Who gets what, when and where: lines of equal requests, the accounts they draw from, the order
/// among them.
///
/// A line is a class's tasks, a class's actors, or groups of one shape: requests that fit where any
/// of them fits. A pool is what lines draw from: the cluster (its accounts are the nodes) or one
/// bundle of a placement group. What is wanted is placed at once where it fits; what is not waits,
/// and is looked at again only when an account that it could use has got something back, so an
/// event costs the same however much waits or runs.
///
/// Order: jobs by priority, then by the smallest dominant share; a job's lines by priority, then by
/// what they have now (actors and groups count as having nothing: each of them is judged as new),
/// then by the time since their last turn.
///
/// Drawing: the first line in that order that could ever fit names its accounts and has its whole
/// request taken out of them in advance (`held`): what comes back there is kept for it, and others
/// get only what is free beside. "Could ever fit" leaves out what does not come back by itself:
/// what actors and groups have, and what tasks that block keep (a drawer that waited for those
/// might wait for what waits for it).
///
/// Nothing here knows names, ids or effects: `machine` translates.
#pragma once

#include "head/capacity.hpp"
#include "head/planner.hpp"

#include <cstdint>
#include <memory>
#include <set>
#include <vector>

namespace ray::detail::head {

struct inspector;  // of the tests

/// The three tables of a set of accounts. `free` is what is left now, less what is held for a
/// drawer: it may be negative. `room` is what is left when all that ends by itself has ended.
struct accounts {
  capacity_table total;
  capacity_table room;
  capacity_table free;
};

enum class line_kind : std::uint8_t { tasks, actors, groups };

inline constexpr place cluster_pool = 0;

/// What a line is made of.
struct line_spec {
  line_kind kind = line_kind::tasks;
  place job = nowhere;
  place pool = cluster_pool;
  int priority = 0;
  request need = {};          // of one task, actor; of a group the sum
  node_filter where = {};     // in the cluster
  place preferred = nowhere;  // node that is tried first
  bool spread = false;
  std::shared_ptr<group_shape> shape = {};  // of groups
  std::vector<place> fixed = {};  // of one group: the nodes of bundles that have theirs already
};

/// What a line has of one account.
struct holding {
  place account = nowhere;
  std::int64_t slots = 0;
  std::int64_t lent = 0;       // of them: their CPUs are in others' hands
  std::int64_t recalled = 0;   // of a standing line: asked back, as the caller was last told
  std::int64_t from_busy = 0;  // of them: not only if idle
};

class scheduler {
 public:
  /// A request that has got its place; of groups, a node for each bundle.
  struct placement {
    place line;
    place account;
    std::int64_t slots;
    std::vector<place> nodes;
  };
  struct recall_change {
    place line;
    place account;
    std::int64_t slots;
    std::int64_t from_busy;
  };

  scheduler();

  // What happened since they were last taken; the caller clears them.
  std::vector<placement> placed;
  std::vector<recall_change> recalls;
  std::vector<place> infeasible;  // lines that have come to be so

  void add_node(place node, const request& total);
  /// All that lines and groups had there must have been taken off it before.
  void remove_node(place node, const request& total);

  [[nodiscard]] place add_job(int priority);
  void remove_job(place job);

  [[nodiscard]] place add_line(line_spec spec);
  /// Nothing of it may be left.
  void remove_line(place line);
  /// Lets lines that name nodes take this one too (`add`), or no longer.
  void change_filter(place line, place node, bool add);
  void prefer(place line, place node);
  /// The same for the bundles of groups, by the node's labels.
  void change_bundle_filters(place line, place node, bool add, const label_map& labels);

  /// Places as much of `missing` as fits now; the rest waits in line.
  void want(place line, std::int64_t missing);
  /// The same for a line that keeps up to `slots` and can be recalled.
  void want_standing(place line, std::int64_t slots);
  /// The line wants nothing more and has nothing more.
  void withdraw(place line);
  /// Returns how many slots it took back, at most what the line had there.
  std::int64_t release(place line, place account, std::int64_t slots, bool idle);
  void lend(place line, place account, std::int64_t slots);
  void reclaim(place line, place account, std::int64_t slots);
  void give_back_bundle(place job, place node, const request& need);

  /// Bundles: a pool each. It opens when the group has been placed, closes when that is removed
  /// (what its lines still have then counts against the node, if there is one), and is lost with
  /// its node, when what its lines had must have been released before.
  [[nodiscard]] place add_pool(place job);
  void open_pool(place pool, const request& total);
  void close_pool(place pool, place node);
  void lose_pool(place pool);
  void remove_pool(place pool);

  /// Serves whoever can be served with what has come back, chooses who draws, says what is
  /// recalled. Ends every step.
  void settle();

  /// A node joined or a bundle grew: lines that were infeasible and are so no longer wait again.
  void look_again();
  /// A node left: lines that have become infeasible.
  void find_infeasible();

  [[nodiscard]] const line_spec& spec(place line) const { return lines_[line]->spec; }
  [[nodiscard]] std::int64_t missing(place line) const { return lines_[line]->missing; }
  [[nodiscard]] std::int64_t granted(place line) const { return lines_[line]->granted; }
  [[nodiscard]] bool is_infeasible(place line) const { return lines_[line]->infeasible; }
  [[nodiscard]] bool is_standing(place line) const { return lines_[line]->standing; }
  [[nodiscard]] const std::vector<holding>& holdings(place line) const {
    return lines_[line]->holdings;
  }
  [[nodiscard]] const accounts& nodes() const { return nodes_; }
  [[nodiscard]] const accounts& bundles() const { return bundles_; }
  /// What is held there for a drawer: `free` lacks it.
  [[nodiscard]] request held(place node) const;
  [[nodiscard]] std::size_t waiting(place pool) const { return pools_[pool]->waiting; }
  [[nodiscard]] place drawer(place pool) const { return pools_[pool]->drawer; }
  /// How many lines were looked at so far: the measure of work, for tests.
  [[nodiscard]] std::uint64_t looked_at() const { return looked_at_; }

 private:
  friend struct inspector;

  struct line_key {
    int priority;
    double usage;
    std::uint64_t turn;
    place line;
    bool operator<(const line_key& other) const;
  };
  struct party_key {
    int priority;
    double share;
    std::uint64_t turn;
    place party;
    bool operator<(const party_key& other) const;
  };

  struct line {
    line_spec spec;
    request cpu;   // of `need`
    request rest;  // of `need`
    place party = nowhere;
    std::int64_t missing = 0;
    std::int64_t granted = 0;
    std::int64_t standing_slots = 0;
    bool standing = false;
    bool waiting = false;
    bool fresh = false;  // it waits, but only what has come back was tried for it
    bool infeasible = false;
    double slot_share = 0;            // dominant share of the cluster, of one slot
    std::vector<holding> holdings;    // by account
    std::set<line_key>::iterator at;  // while it waits
    std::uint64_t turn = 0;
    std::uint64_t feasible_at = 0;  // versions for which these are known
    std::uint64_t no_room_at = 0;
  };

  /// The lines of one job in one pool.
  struct party {
    place pool;
    place job;
    std::set<line_key> lines;  // that wait
    std::set<line_key>::iterator cursor;
    std::uint64_t pass = 0;            // the pass that `cursor` belongs to
    std::set<party_key>::iterator at;  // while any wait
    std::uint64_t turn = 0;
  };

  struct pool {
    place self = nowhere;
    accounts* books = nullptr;
    place account = nowhere;   // of a bundle
    place party = nowhere;     // of a bundle
    std::vector<place> lines;  // of a bundle
    bool open = true;
    bool unsettled = false;
    bool redraw = false;       // the room of a held account has changed
    bool all_blocked = false;  // no line that waits could draw, as far as is known
    std::set<party_key> order;
    std::size_t waiting = 0;
    std::size_t waiting_without_cpu = 0;
    std::size_t fresh = 0;
    std::vector<place> dirty;  // accounts that have got something back
    place drawer = nowhere;
    std::vector<place> named;  // by the drawer, one a bundle if it is a group
    std::uint64_t room_version = 1;
    std::vector<place> standing;                 // lines
    std::vector<std::pair<place, place>> asked;  // line and account of what is recalled
    std::vector<place> overdrawn;                // accounts with less than nothing
  };

  struct job {
    bool live = false;
    int priority = 0;
    place party = nowhere;           // in the cluster
    std::vector<std::int64_t> used;  // by kind
    double share = 0;
  };

  // scheduler.cpp: books
  [[nodiscard]] pool& pool_of(const line& one) { return *pools_[one.spec.pool]; }
  [[nodiscard]] static holding* find_holding(line& one, place account);
  void take(place index, place account, std::int64_t slots);
  void charge(place job, const request& need, std::int64_t times);
  void change_room(pool& from, place account, const request& need, std::int64_t times);
  void came_back(pool& to, place account);
  void note_overdrawn(pool& of, place account);
  void count(place node, std::int64_t more);
  void shut(pool& one);
  void move_to_node(place line, place node);
  [[nodiscard]] bool accepts(const line& one, place account) const;
  [[nodiscard]] double share_of(const request& need) const;
  void totals_changed();
  void unsettle(place pool);
  [[nodiscard]] place add_party(place pool, place job);

  // queue.cpp: lines that wait, and serving them
  [[nodiscard]] bool feasible(line& one);
  [[nodiscard]] bool feasible_group(const line& one);
  void now_missing(place index);
  void place_now(place index);
  void place_on(place index, place account);
  void place_spread(place index);
  void place_weightless(place index);
  [[nodiscard]] bool place_group(place index);
  void put_group(place index, const std::vector<place>& nodes);
  [[nodiscard]] place fit_from(const line& one, place from) const;
  [[nodiscard]] std::int64_t acceptable(const line& one) const;
  [[nodiscard]] bool some_bundle_fits(const pool& here, const line& one) const;
  void enter(place index, bool fresh);
  void leave(place index);
  void refresh(place index);
  void refresh_party(place index);
  void served(place index);
  [[nodiscard]] line_key key_of(place index) const;
  [[nodiscard]] party_key key_of_party(place index) const;
  [[nodiscard]] bool place_one(pool& here, place index);
  [[nodiscard]] place find_fit(const pool& here, const line& one) const;
  static void looked_everywhere(pool& here, line& one);
  void settle_pool(pool& here);
  void serve(pool& here);
  [[nodiscard]] bool serve_party(pool& here, party& who);
  [[nodiscard]] bool exhausted(const pool& here) const;

  // drawing.cpp: who draws, and what is recalled for it
  void hold(pool& here, std::int64_t times);
  void serve_drawer(pool& here);
  [[nodiscard]] bool place_on_held(pool& here);
  [[nodiscard]] bool place_elsewhere(pool& here);
  static void forget_drawer(pool& here);
  [[nodiscard]] bool covered(const pool& here) const;
  [[nodiscard]] bool still_has_room(pool& here);
  void start_drawing(pool& here, place index, std::vector<place> named);
  void stop_drawing(pool& here);
  void renew_drawing(pool& here);
  void choose_drawer(pool& here);
  [[nodiscard]] bool find_accounts(pool& here, place index, std::vector<place>& named);
  [[nodiscard]] place account_to_draw_on(const line& one) const;
  [[nodiscard]] bool outranks(const line_key& one, place other) const;
  [[nodiscard]] bool may_recall(place drawer, place from, std::int64_t slots) const;
  void update_recalls(pool& here);
  void ask_back(pool& here, place account);
  void set_recall(pool& here, place index, place account, std::int64_t slots,
                  std::int64_t from_busy);
  [[nodiscard]] request held_at(const pool& here, place account) const;

  accounts nodes_;
  accounts bundles_;
  request totals_;  // of the cluster
  std::vector<bool> alive_;
  std::set<std::pair<std::int64_t, place>> lightest_;  // nodes by what weighs nothing there
  std::vector<std::int64_t> weightless_;
  std::vector<job> jobs_;
  std::vector<std::unique_ptr<line>> lines_;
  std::vector<place> free_lines_;
  std::vector<std::unique_ptr<party>> parties_;
  std::vector<place> free_parties_;
  std::vector<std::unique_ptr<pool>> pools_;
  std::vector<place> free_pools_;
  std::vector<place> unsettled_;
  std::size_t live_jobs_ = 0;
  place next_spread_ = 0;  // where the next slot of a spread line goes
  std::uint64_t turn_ = 0;
  std::uint64_t pass_ = 0;
  std::uint64_t total_version_ = 1;
  std::uint64_t looked_at_ = 0;
};

}  // namespace ray::detail::head
