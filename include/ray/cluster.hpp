/// What there is: nodes and their resources. In one process there is one node, this one.
#pragma once

#include <ray/id.hpp>

#include <map>
#include <string>
#include <vector>

namespace ray {

struct node_info {
  node_id id = {};
  std::string address = {};
  bool alive = true;
  std::map<std::string, double> resources = {};
  std::map<std::string, double> available = {};  // free now; "CPU", "GPU", "memory", custom names
  std::map<std::string, std::string> labels = {};
};

/// All nodes. Throws usage_error without a session, as do the others.
[[nodiscard]] std::vector<node_info> nodes();
/// The node of this process.
[[nodiscard]] node_info this_node();
/// The sum over all nodes.
[[nodiscard]] std::map<std::string, double> cluster_resources();
/// What nothing holds now.
[[nodiscard]] std::map<std::string, double> available_resources();

}  // namespace ray
