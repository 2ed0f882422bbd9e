/// `ray::config`: what a program can say about its session. Each member has an option of the
/// command line with its name (`num_cpus`: `--ray-num-cpus`); the command line wins over `config`,
/// `config` over the environment, and what nobody sets is found out from the machine.
#pragma once

#include <ray/amount.hpp>
#include <ray/log.hpp>

#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

namespace ray {

/// The options of a session, an aggregate written by name, in the order shown:
///
///     auto session = ray::init(argc, argv, {.num_cpus = 4, .job_name = "prices"});
///
/// Absurd values (negative, NaN, an empty name) are held here and throw `usage_error` from `init`.
struct config {
  /// Which cluster to join. Empty: `$RAY_ADDRESS`, else this process alone. "local": this process
  /// alone. "host:port": that cluster. "auto": `$RAY_ADDRESS`, else the cluster on this machine,
  /// else this process alone. "slurm", "mpi": the ranks of this job step.
  std::string address = {};

  /// "host:port": this process is itself the head, and others join it by that address.
  std::string head = {};

  /// CPU slots, whatever the machine has. Default: the CPUs that this process may run on, by its
  /// affinity and its cgroup's quota.
  std::optional<amount> num_cpus = {};

  /// GPU slots. Default: the CUDA devices that this process sees, none without CUDA.
  std::optional<amount> num_gpus = {};

  /// Custom resources and how much there is of each. "CPU", "GPU" and "memory" are not custom.
  std::map<std::string, double> resources = {};

  /// Labels of this node, which tasks and actors can ask for.
  std::map<std::string, std::string> labels = {};

  /// Bytes of objects in memory before spilling begins; 0: 30% of the physical memory, or of the
  /// cgroup's limit where that is less.
  std::size_t object_store_memory = 0;

  /// Where spilled objects are written; made if it does not exist. Default: `$RAY_SPILL_DIR`, else
  /// the system's temporary directory.
  std::filesystem::path spill_directory = {};

  /// The cluster's secret. Default: `$RAY_TOKEN`, else what the file `$RAY_TOKEN_FILE` holds, else
  /// what `~/.ray/token` holds.
  std::string token = {};

  /// Names the job in lists and logs. Default: the name of the executable.
  std::string job_name = {};

  /// Where the names of this job's actors are looked up.
  std::string name_space = "default";

  /// Among jobs; higher first.
  int priority = 0;

  /// The least severe messages that are still logged.
  log_level verbosity = log_level::warning;
};

}  // namespace ray
