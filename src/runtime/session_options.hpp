/// The options of a session, brought together from the program's `config`, the environment and the
/// machine; what stands first wins. The `config` is checked, and what it leaves open is filled in.
/// The command line comes before all: `take_options` lays it over the `config`.
#pragma once

#include <ray/config.hpp>
#include <ray/error.hpp>

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>

namespace ray::detail::runtime {

/// What a session runs with. Every option is valid and decided; none means "the default" any more.
struct session_options {
  amount num_cpus = 0, num_gpus = 0;
  std::map<std::string, double> resources = {};
  std::map<std::string, std::string> labels = {};
  std::size_t object_store_memory = 0;         // bytes before spilling begins, never 0
  std::filesystem::path spill_directory = {};  // absolute, exists, and can be written to
  std::string token = {};                      // empty when nobody set one
  std::string job_name = {}, name_space = {};
  int priority = 0;
  log_level verbosity = log_level::warning;
  bool infeasible_is_error = false;  // $RAY_INFEASIBLE=error
};

/// The variables of the environment that ray reads, by name.
using environment = std::map<std::string, std::string>;

/// Those of this process. Must not run beside a `setenv`, as `getenv` must not.
[[nodiscard]] environment process_environment();

/// Decides every option. Makes the spill directory if it does not exist. Throws `usage_error` when
/// an option is absurd, when the spill directory cannot be used, or when a cluster is asked for:
/// this build runs in one process.
[[nodiscard]] session_options resolve_options(const config& given,
                                              const environment& variables = process_environment());

/// The error of whoever asks for a cluster: `wish` is what ray was asked to do, `remedy` what to do
/// instead.
[[nodiscard]] usage_error one_process_only(const std::string& wish, const std::string& remedy);

}  // namespace ray::detail::runtime
