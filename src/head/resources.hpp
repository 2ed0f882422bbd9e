/// Amounts of named resources, as requests, bundles and nodes state them, and the labels of nodes.
///
/// CPU, GPU and memory are fields, so that the common request costs no allocation; custom resources
/// are a short vector sorted by name. This is the form of the boundary: inside, the ledger counts
/// in numbered kinds (capacity.hpp).
#pragma once

#include <ray/amount.hpp>

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace ray::detail::head {

/// What a node carries, and what a request wants it to carry.
using label_map = std::map<std::string, std::string>;

/// Whether `labels` has every entry of `wanted`.
[[nodiscard]] bool carries(const label_map& labels, const label_map& wanted);

/// How much of each resource. Absurd amounts can be held, so that `problem` can name them.
class resource_set {
 public:
  /// Sorted by name, each name once, nothing that is zero.
  using custom_list = std::vector<std::pair<std::string, amount>>;

  resource_set() = default;
  /// `memory` is in bytes.
  resource_set(amount cpu, amount gpu = {}, std::size_t memory = 0,
               const std::map<std::string, double>& custom = {});

  [[nodiscard]] amount cpu() const noexcept { return cpu_; }
  [[nodiscard]] amount gpu() const noexcept { return gpu_; }
  [[nodiscard]] std::int64_t memory() const noexcept { return memory_; }
  [[nodiscard]] const custom_list& custom() const noexcept { return custom_; }
  [[nodiscard]] bool empty() const noexcept { return *this == resource_set{}; }

  void set_custom(const std::string& name, amount value);

  /// Whether `other` could be taken out of this.
  [[nodiscard]] bool fits(const resource_set& other) const;
  resource_set& operator+=(const resource_set& other);
  resource_set& operator-=(const resource_set& other);

  /// The first thing that is absurd, as half a sentence ("num_cpus is negative or not a number"),
  /// or nothing.
  [[nodiscard]] std::optional<std::string> problem() const;

  /// As the public queries give it: "CPU", "GPU", "memory" and the custom names; what is zero is
  /// left out.
  [[nodiscard]] std::map<std::string, double> to_map() const;

  friend auto operator<=>(const resource_set&, const resource_set&) = default;

 private:
  amount cpu_;
  amount gpu_;
  std::int64_t memory_ = 0;
  custom_list custom_;
};

/// For messages: "{CPU: 2, GPU: 0.5}".
[[nodiscard]] std::string to_string(const resource_set& resources);
[[nodiscard]] std::string to_string(const label_map& labels);

}  // namespace ray::detail::head
