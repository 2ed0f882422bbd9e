#include "head/resources.hpp"

#include <algorithm>
#include <limits>
#include <sstream>

namespace ray::detail::head {

namespace {

/// A sum of thousands of nodes must not overflow.
constexpr std::int64_t most_memory = std::numeric_limits<std::int64_t>::max() / 4096;

[[nodiscard]] auto place_of(resource_set::custom_list& list, const std::string& name) {
  return std::ranges::lower_bound(list, name, {}, &resource_set::custom_list::value_type::first);
}

[[nodiscard]] amount amount_of(const resource_set::custom_list& list, const std::string& name) {
  const auto found =
      std::ranges::lower_bound(list, name, {}, &resource_set::custom_list::value_type::first);
  return found != list.end() && found->first == name ? found->second : amount{};
}

}  // namespace

bool carries(const label_map& labels, const label_map& wanted) {
  return std::ranges::all_of(wanted, [&](const auto& label) {
    const auto found = labels.find(label.first);
    return found != labels.end() && found->second == label.second;
  });
}

resource_set::resource_set(amount cpu, amount gpu, std::size_t memory,
                           const std::map<std::string, double>& custom)
    : cpu_(cpu),
      gpu_(gpu),
      memory_(memory > static_cast<std::size_t>(most_memory) ? -1
                                                             : static_cast<std::int64_t>(memory)) {
  for (const auto& [name, value] : custom) set_custom(name, value);
}

void resource_set::set_custom(const std::string& name, amount value) {
  const auto place = place_of(custom_, name);
  const bool known = place != custom_.end() && place->first == name;
  if (value == amount{}) {
    if (known) custom_.erase(place);
  } else if (known) {
    place->second = value;
  } else {
    custom_.emplace(place, name, value);
  }
}

bool resource_set::fits(const resource_set& other) const {
  return other.cpu_ <= cpu_ && other.gpu_ <= gpu_ && other.memory_ <= memory_ &&
         std::ranges::all_of(other.custom_, [&](const auto& entry) {
           return entry.second <= amount_of(custom_, entry.first);
         });
}

resource_set& resource_set::operator+=(const resource_set& other) {
  cpu_ = cpu_ + other.cpu_;
  gpu_ = gpu_ + other.gpu_;
  memory_ += other.memory_;
  for (const auto& [name, value] : other.custom_)
    set_custom(name, amount_of(custom_, name) + value);
  return *this;
}

resource_set& resource_set::operator-=(const resource_set& other) {
  cpu_ = cpu_ - other.cpu_;
  gpu_ = gpu_ - other.gpu_;
  memory_ -= other.memory_;
  for (const auto& [name, value] : other.custom_)
    set_custom(name, amount_of(custom_, name) - value);
  return *this;
}

std::optional<std::string> resource_set::problem() const {
  if (!cpu_.valid()) return "num_cpus is negative, not a number or too large to count";
  if (!gpu_.valid()) return "num_gpus is negative, not a number or too large to count";
  if (memory_ < 0) return "memory is too large to count";
  for (const auto& [name, value] : custom_) {
    if (name.empty()) return "a custom resource has an empty name";
    if (name == "CPU" || name == "GPU" || name == "memory")
      return "resource '" + name + "' is not a custom one (use num_cpus, num_gpus or memory)";
    if (!value.valid())
      return "resource '" + name + "' is negative, not a number or too large to count";
  }
  return std::nullopt;
}

std::map<std::string, double> resource_set::to_map() const {
  std::map<std::string, double> map;
  if (cpu_ != amount{}) map["CPU"] = cpu_.value();
  if (gpu_ != amount{}) map["GPU"] = gpu_.value();
  if (memory_ != 0) map["memory"] = static_cast<double>(memory_);
  for (const auto& [name, value] : custom_) map[name] = value.value();
  return map;
}

std::string to_string(const resource_set& resources) {
  std::ostringstream text;
  const char* separator = "";
  text << '{';
  const auto entry = [&](const std::string& name, auto value) {
    text << separator << name << ": " << value;
    separator = ", ";
  };
  if (resources.cpu() != amount{}) entry("CPU", resources.cpu().value());
  if (resources.gpu() != amount{}) entry("GPU", resources.gpu().value());
  if (resources.memory() != 0) entry("memory", resources.memory());
  for (const auto& [name, value] : resources.custom()) entry(name, value.value());
  text << '}';
  return text.str();
}

std::string to_string(const label_map& labels) {
  std::string text = "{";
  for (const auto& [name, value] : labels) {
    if (text.size() > 1) text += ", ";
    text += name;
    text += ": ";
    text += value;
  }
  return text + '}';
}

}  // namespace ray::detail::head
