/// How much of each kind of resource many accounts have, and the first account that has enough.
///
/// Kinds are numbered: 0 CPU, 1 GPU, 2 memory, then custom names as they turn up. For each kind a
/// table keeps a tree of maxima over the accounts, so that finding one that fits costs a descent
/// and changing one an ascent, however many nodes there are.
#pragma once

#include "head/resources.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace ray::detail::head {

/// A place in one of the vectors of the books: a node, a job, a line, a bundle.
using place = std::uint32_t;
inline constexpr place nowhere = 0xffffffffU;

using kind = std::uint32_t;
inline constexpr kind cpu_kind = 0;
inline constexpr kind gpu_kind = 1;
inline constexpr kind memory_kind = 2;

/// So many units of a kind: ten-thousandths, but bytes of memory.
struct quantity {
  kind what;
  std::int64_t units;
};

/// What something needs: each kind at most once, in the order of kinds, nothing that is zero.
using request = std::vector<quantity>;

[[nodiscard]] std::int64_t units_of(const request& need, kind what);
/// Adds `more` to `sum`, times `times`.
void add_to(request& sum, const request& more, std::int64_t times = 1);

/// The numbers of the custom resources' names.
class resource_names {
 public:
  [[nodiscard]] kind number(const std::string& name);
  [[nodiscard]] request request_of(const resource_set& resources);
  [[nodiscard]] resource_set resources_of(const request& need) const;
  [[nodiscard]] std::size_t count() const { return names_.size() + 3; }

 private:
  std::vector<std::string> names_;
  std::unordered_map<std::string, kind> numbers_;
};

/// Units by account and kind; an account that was never added to has nothing. Units may be
/// negative.
class capacity_table {
 public:
  [[nodiscard]] std::int64_t units(place account, kind what) const;
  /// Whether the account has all of `need`.
  [[nodiscard]] bool fits(place account, const request& need) const;
  /// How often `need` (not empty) fits.
  [[nodiscard]] std::int64_t times(place account, const request& need) const;
  /// Adds `need`, `times` times; negative to take.
  void add(place account, const request& need, std::int64_t times);
  /// The account has nothing any more.
  void clear(place account);
  /// The first account at or after `from` that has all of `need`, which is not empty; or `nowhere`.
  [[nodiscard]] place find(const request& need, place from = 0) const;
  /// The first of the accounts that have most of `what`.
  [[nodiscard]] place richest(kind what) const;
  [[nodiscard]] kind kinds() const { return static_cast<kind>(trees_.size()); }
  /// Accounts beyond this one have nothing.
  [[nodiscard]] place width() const { return static_cast<place>(width_); }

 private:
  // A complete binary tree: the maximum at [1], the children of [i] at [2i] and [2i+1], the
  // accounts from [width_] on.
  using tree = std::vector<std::int64_t>;

  [[nodiscard]] bool may_fit(std::size_t at, const request& need) const;
  static void climb(tree& maxima, std::size_t at);
  void grow(place account, kind what);

  std::size_t width_ = 1;
  std::vector<tree> trees_;
};

}  // namespace ray::detail::head
