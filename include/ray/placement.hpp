/// Placement groups: bundles of resources that are reserved together, or not at all.
#pragma once

#include <ray/amount.hpp>
#include <ray/detail/runtime/exported.hpp>
#include <ray/future.hpp>
#include <ray/options.hpp>

#include <cstddef>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace ray {

/// What one part of a placement group reserves on one node.
struct resource_bundle {
  amount num_cpus = 0, num_gpus = 0;
  std::size_t memory = 0;
  std::map<std::string, double> resources = {};
  std::map<std::string, std::string> labels = {};
};

/// Where the bundles lie: together or apart, as a wish or, when strict, as a condition.
enum class strategy { pack, spread, strict_pack, strict_spread };

/// A copyable, serializable handle, empty by default. Dropping it frees nothing: only `remove` or
/// the end of the job gives the resources back.
class placement_group {
 public:
  placement_group() noexcept = default;
  /// Asks for the bundles; never blocks. Throws usage_error for absurd amounts or no bundles.
  explicit placement_group(std::initializer_list<resource_bundle> bundles,
                           strategy how = strategy::pack);
  explicit placement_group(std::vector<resource_bundle> bundles, strategy how = strategy::pack);

  /// Ends when all bundles are reserved; with infeasible_error or cancelled_error if they never
  /// are.
  [[nodiscard]] future<void> ready() const;
  /// For `task_options::scheduling`. Throws usage_error when there is no such bundle.
  [[nodiscard]] placement_bundle bundle(std::size_t index) const;
  /// Gives everything back; what waits in the group ends with cancelled_error.
  void remove() const;

  [[nodiscard]] bool valid() const noexcept { return state_ != nullptr; }
  friend bool operator==(const placement_group&, const placement_group&) noexcept = default;

  template <typename Archive>
  void save(Archive& archive) const {
    archive(detail::export_handle(state_.get(), state_));
  }
  template <typename Archive>
  void load(Archive& archive) {
    detail::exported_handle one;
    archive(one);
    state_ = std::static_pointer_cast<detail::group_state>(detail::import_handle(one));
  }

 private:
  void create(const std::vector<resource_bundle>& bundles, strategy how);

  std::shared_ptr<detail::group_state> state_;
};

}  // namespace ray
