#include <ray/placement.hpp>

#include "runtime/core.hpp"
#include "runtime/object_hooks.hpp"
#include "runtime/placement_spec.hpp"
#include "runtime/signal.hpp"

#include <ray/error.hpp>

namespace ray {
namespace {

detail::group_state& require(const std::shared_ptr<detail::group_state>& state, const char* what) {
  if (state == nullptr) {
    throw usage_error(std::string("ray: an empty placement group was used (") + what +
                      "): make one with its bundles, ray::placement_group pg({{.num_cpus = 2}})");
  }
  return *state;
}

}  // namespace

placement_group::placement_group(std::initializer_list<resource_bundle> bundles, strategy how) {
  create({bundles.begin(), bundles.end()}, how);
}

placement_group::placement_group(std::vector<resource_bundle> bundles, strategy how) {
  create(bundles, how);
}

void placement_group::create(const std::vector<resource_bundle>& bundles, strategy how) {
  detail::require_session();
  auto state = std::make_shared<detail::group_state>();
  state->id = {detail::process_id_prefix(), detail::next_id()};
  state->bundles = bundles.size();
  std::vector<detail::head::bundle_spec> specs;
  for (const auto& one : bundles) {
    specs.push_back(
        {detail::head::resource_set(one.num_cpus, one.num_gpus, one.memory, one.resources),
         one.labels});
  }
  auto ready = detail::make_signal();
  state->ready = ready;
  detail::core::get().scheduler.create_group(state->id, std::move(specs),
                                             static_cast<detail::head::group_strategy>(how),
                                             std::move(ready));
  state_ = std::move(state);
}

future<void> placement_group::ready() const {
  return detail::future_access::make<void>(require(state_, "ready").ready);
}

placement_bundle placement_group::bundle(std::size_t index) const {
  const auto& state = require(state_, "bundle");
  if (index >= state.bundles) {
    throw usage_error("ray: placement group (" + to_string(state.id) + ") has " +
                      std::to_string(state.bundles) + " bundles, so there is no bundle " +
                      std::to_string(index));
  }
  return {state_, index};
}

void placement_group::remove() const {
  detail::require_session();
  detail::core::get().scheduler.remove_group(require(state_, "remove").id);
}

}  // namespace ray
