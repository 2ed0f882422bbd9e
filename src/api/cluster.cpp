#include <ray/cluster.hpp>

#include "runtime/core.hpp"

namespace ray {
namespace {

node_info info_of(const detail::head::node_view& view) {
  // The idle tokens of the pool are granted to it, but nobody uses them.
  detail::head::resource_set available = view.available;
  available += detail::head::resource_set(detail::core::get().pool.idle_tokens());
  return {view.id, view.address, true, view.resources.to_map(), available.to_map(), view.labels};
}

/// Zero is part of the answer here: programs index it.
std::map<std::string, double> with_zeros(std::map<std::string, double> found,
                                         const std::map<std::string, double>& names) {
  for (const auto& [name, value] : names) found.try_emplace(name, 0.0);
  return found;
}

}  // namespace

std::vector<node_info> nodes() {
  std::vector<node_info> all;
  for (const auto& view : detail::core::get().scheduler.nodes()) all.push_back(info_of(view));
  for (auto& one : all) one.available = with_zeros(std::move(one.available), one.resources);
  return all;
}

node_info this_node() { return nodes().front(); }

std::map<std::string, double> cluster_resources() {
  return detail::core::get().scheduler.total_resources().to_map();
}

std::map<std::string, double> available_resources() { return this_node().available; }

}  // namespace ray
