#include "head/capacity.hpp"

#include <algorithm>
#include <limits>

namespace ray::detail::head {

std::int64_t units_of(const request& need, kind what) {
  for (const quantity& part : need)
    if (part.what == what) return part.units;
  return 0;
}

void add_to(request& sum, const request& more, std::int64_t times) {
  for (const quantity& part : more) {
    auto at = std::ranges::lower_bound(sum, part.what, {}, &quantity::what);
    if (at == sum.end() || at->what != part.what) at = sum.insert(at, {part.what, 0});
    at->units += part.units * times;
    if (at->units == 0) sum.erase(at);
  }
}

kind resource_names::number(const std::string& name) {
  const auto [entry, added] = numbers_.try_emplace(name, static_cast<kind>(count()));
  if (added) names_.push_back(name);
  return entry->second;
}

request resource_names::request_of(const resource_set& resources) {
  request need;
  if (resources.cpu() != amount{}) need.push_back({cpu_kind, resources.cpu().units()});
  if (resources.gpu() != amount{}) need.push_back({gpu_kind, resources.gpu().units()});
  if (resources.memory() != 0) need.push_back({memory_kind, resources.memory()});
  for (const auto& [name, value] : resources.custom())
    add_to(need, {{number(name), value.units()}});
  return need;
}

resource_set resource_names::resources_of(const request& need) const {
  const auto memory = std::max<std::int64_t>(0, units_of(need, memory_kind));
  resource_set resources(amount::from_units(units_of(need, cpu_kind)),
                         amount::from_units(units_of(need, gpu_kind)),
                         static_cast<std::size_t>(memory));
  for (const quantity& part : need)
    if (part.what > memory_kind)
      resources.set_custom(names_[part.what - 3], amount::from_units(part.units));
  return resources;
}

std::int64_t capacity_table::units(place account, kind what) const {
  if (what >= trees_.size() || account >= width_) return 0;
  return trees_[what][width_ + account];
}

bool capacity_table::fits(place account, const request& need) const {
  return std::ranges::all_of(
      need, [&](const quantity& part) { return units(account, part.what) >= part.units; });
}

std::int64_t capacity_table::times(place account, const request& need) const {
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (const quantity& part : need)
    least = std::min(least, std::max<std::int64_t>(0, units(account, part.what)) / part.units);
  return least;
}

void capacity_table::add(place account, const request& need, std::int64_t times) {
  for (const quantity& part : need) {
    if (part.what >= trees_.size() || account >= width_) grow(account, part.what);
    tree& maxima = trees_[part.what];
    maxima[width_ + account] += part.units * times;
    climb(maxima, width_ + account);
  }
}

void capacity_table::clear(place account) {
  if (account >= width_) return;
  for (tree& maxima : trees_) {
    maxima[width_ + account] = 0;
    climb(maxima, width_ + account);
  }
}

/// Carries a change up, as far as it changes anything.
void capacity_table::climb(tree& maxima, std::size_t at) {
  for (at /= 2; at > 0; at /= 2) {
    const std::int64_t most = std::max(maxima[2 * at], maxima[2 * at + 1]);
    if (maxima[at] == most) break;
    maxima[at] = most;
  }
}

bool capacity_table::may_fit(std::size_t at, const request& need) const {
  return std::ranges::all_of(need, [&](const quantity& part) {
    return part.what < trees_.size() && trees_[part.what][at] >= part.units;
  });
}

place capacity_table::find(const request& need, place from) const {
  if (from >= width_) return nowhere;
  std::size_t at = from == 0 ? 1 : width_ + from;
  while (true) {
    if (may_fit(at, need)) {
      if (at >= width_) return static_cast<place>(at - width_);
      at *= 2;
      continue;
    }
    // Nothing below: on to the next subtree on the right, up from every right child.
    while (at % 2 == 1) at /= 2;
    if (at == 0) return nowhere;
    ++at;
  }
}

place capacity_table::richest(kind what) const {
  if (what >= trees_.size()) return 0;
  const tree& maxima = trees_[what];
  std::size_t at = 1;
  while (at < width_) at = maxima[2 * at] == maxima[at] ? 2 * at : 2 * at + 1;
  return static_cast<place>(at - width_);
}

void capacity_table::grow(place account, kind what) {
  std::size_t width = width_;
  while (account >= width) width *= 2;
  if (width != width_) {
    for (tree& maxima : trees_) {
      tree wider(2 * width, 0);
      std::copy(maxima.begin() + static_cast<std::ptrdiff_t>(width_), maxima.end(),
                wider.begin() + static_cast<std::ptrdiff_t>(width));
      for (std::size_t at = width - 1; at > 0; --at)
        wider[at] = std::max(wider[2 * at], wider[2 * at + 1]);
      maxima = std::move(wider);
    }
    width_ = width;
  }
  if (what >= trees_.size()) trees_.resize(what + 1, tree(2 * width_, 0));
}

}  // namespace ray::detail::head
