// Three steps: what the program asks for is checked, a cluster is refused, and what is still open
// is filled in from the environment and the machine. The functions named `decide_` do the last,
// each for one option.
#include "runtime/session_options.hpp"

#include "system/host.hpp"
#include "system/process.hpp"
#include "system/text_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <system_error>

namespace ray::detail::runtime {

namespace {

usage_error absurd_member(std::string_view member, const std::string& problem,
                          std::string_view remedy) {
  return usage_error("ray::init cannot use config::" + std::string(member) + ": " + problem + "; " +
                     std::string(remedy));
}

void require_valid(std::string_view member, const std::optional<amount>& value) {
  if (!value || value->valid()) return;
  throw absurd_member(member, "it is negative, not a number or too large",
                      "give a number, 0 or more, or leave it empty for the default");
}

void check_resources(const std::map<std::string, double>& resources) {
  constexpr std::string_view remedy = "give every resource a name and a number, 0 or more";
  for (const auto& [name, value] : resources) {
    if (name.empty()) throw absurd_member("resources", "one of them has an empty name", remedy);
    if (name == "CPU" || name == "GPU" || name == "memory") {
      throw absurd_member("resources", "'" + name + "' is not a custom resource",
                          "give CPUs as num_cpus, GPUs as num_gpus; memory is counted by itself");
    }
    if (!amount(value).valid()) {
      throw absurd_member("resources",
                          "'" + name + "' is " + std::to_string(value) +
                              ", which is negative, not a number or too large",
                          remedy);
    }
  }
}

void check_settings(const config& settings) {
  require_valid("num_cpus", settings.num_cpus);
  require_valid("num_gpus", settings.num_gpus);
  check_resources(settings.resources);
  if (settings.labels.contains("")) {
    throw absurd_member("labels", "one of them has an empty name", "give every label a name");
  }
  if (settings.verbosity < log_level::debug || settings.verbosity > log_level::off) {
    throw absurd_member("verbosity", "it is no log_level", "give one that ray::log_level names");
  }
}

/// Empty when the variable is not set: an empty one counts as none.
std::string variable_or_empty(const environment& variables, const std::string& name) {
  const auto found = variables.find(name);
  return found == variables.end() ? std::string() : found->second;
}

bool is_this_process(std::string_view address) {
  return address.empty() || address == "local" || address == "auto";
}

void require_one_process(const config& settings, const environment& variables) {
  if (!settings.head.empty()) {
    throw one_process_only("be the head at '" + settings.head + "' (--ray-head or config::head)",
                           "name no head");
  }
  if (!is_this_process(settings.address)) {
    throw one_process_only("join '" + settings.address + "' (--ray-address or config::address)",
                           "leave the address empty or use \"local\"");
  }
  const auto address = variable_or_empty(variables, "RAY_ADDRESS");
  if (settings.address != "local" && !is_this_process(address)) {
    throw one_process_only("join '" + address + "' (from the environment's RAY_ADDRESS)",
                           "unset RAY_ADDRESS or use the address \"local\"");
  }
}

usage_error unusable_spill_directory(const std::filesystem::path& directory,
                                     std::string_view origin, const std::string& problem) {
  return usage_error("ray::init cannot spill objects to '" + directory.string() + "' (" +
                     std::string(origin) + "): " + problem +
                     "; name a directory that this user may write to, by --ray-spill-directory, "
                     "config::spill_directory or RAY_SPILL_DIR");
}

/// Why no file can be made in the directory. A full disk is no reason: that may change before
/// anything is spilled, and then the store reports it.
std::error_code why_not_writable(const std::filesystem::path& directory) {
  std::string name = (directory / "ray-probe-XXXXXX").string();
  const int descriptor = ::mkostemp(name.data(), O_CLOEXEC);
  if (descriptor < 0) {
    const int reason = errno;
    if (reason == ENOSPC || reason == EDQUOT) return {};
    return {reason, std::generic_category()};
  }
  ::unlink(name.c_str());
  ::close(descriptor);
  return {};
}

std::filesystem::path decide_spill_directory(const config& settings, const environment& variables) {
  std::filesystem::path directory = settings.spill_directory;
  std::string_view origin = "--ray-spill-directory or config::spill_directory";
  std::error_code error;
  if (directory.empty()) {
    directory = variable_or_empty(variables, "RAY_SPILL_DIR");
    origin = "from the environment's RAY_SPILL_DIR";
  }
  if (directory.empty()) {
    directory = std::filesystem::temp_directory_path(error);
    origin = "the system's temporary directory";
    if (error) throw unusable_spill_directory("$TMPDIR", origin, error.message());
  }
  auto absolute = std::filesystem::absolute(directory, error);
  if (!error) std::filesystem::create_directories(absolute, error);
  if (error) {
    throw unusable_spill_directory(directory, origin, "it cannot be made: " + error.message());
  }
  error = why_not_writable(absolute);
  if (error) {
    throw unusable_spill_directory(directory, origin,
                                   "no file can be made in it: " + error.message());
  }
  return absolute;
}

/// The file's text without the line's end that editors and `echo` leave.
std::string token_of(const std::filesystem::path& file, std::error_code& error) {
  auto token = system::read_text_file(file, error);
  constexpr std::string_view blanks = " \t\r\n";
  token.erase(token.find_last_not_of(blanks) + 1);
  token.erase(0, token.find_first_not_of(blanks));
  return token;
}

std::string decide_token(const config& settings, const environment& variables) {
  if (!settings.token.empty()) return settings.token;
  if (auto token = variable_or_empty(variables, "RAY_TOKEN"); !token.empty()) return token;
  std::error_code error;
  if (const auto file = variable_or_empty(variables, "RAY_TOKEN_FILE"); !file.empty()) {
    auto token = token_of(file, error);
    if (!error && !token.empty()) return token;
    throw usage_error(
        "ray::init cannot read the cluster's token from '" + file +
        "' (from the environment's RAY_TOKEN_FILE): " + (error ? error.message() : "it is empty") +
        "; name a file that holds the token, or unset RAY_TOKEN_FILE");
  }
  const auto home = variable_or_empty(variables, "HOME");
  return home.empty() ? std::string() : token_of(std::filesystem::path(home) / ".ray/token", error);
}

bool decide_infeasible(const environment& variables) {
  const auto value = variable_or_empty(variables, "RAY_INFEASIBLE");
  if (value.empty() || value == "error") return !value.empty();
  throw usage_error("ray::init cannot use the environment's RAY_INFEASIBLE: it is '" + value +
                    "'; set it to \"error\" to make a request that no node could ever satisfy an "
                    "error, or unset it to let the request wait");
}

}  // namespace

usage_error one_process_only(const std::string& wish, const std::string& remedy) {
  return usage_error("ray::init cannot " + wish + ": this build of ray runs in one process only; " +
                     remedy);
}

environment process_environment() {
  environment result;
  for (const char* name :
       {"RAY_ADDRESS", "RAY_SPILL_DIR", "RAY_TOKEN", "RAY_TOKEN_FILE", "RAY_INFEASIBLE", "HOME"}) {
    if (const char* value = std::getenv(name)) result.emplace(name, value);
  }
  return result;
}

session_options resolve_options(const config& given, const environment& variables) {
  check_settings(given);
  require_one_process(given, variables);
  session_options result;
  result.num_cpus = given.num_cpus ? *given.num_cpus : amount(system::cpu_count());
  result.num_gpus = given.num_gpus.value_or(0);
  result.resources = given.resources;
  result.labels = given.labels;
  result.object_store_memory =
      given.object_store_memory > 0 ? given.object_store_memory : system::memory_limit() / 10 * 3;
  result.token = decide_token(given, variables);
  result.job_name =
      given.job_name.empty() ? system::executable_path().filename().string() : given.job_name;
  result.name_space = given.name_space.empty() ? "default" : given.name_space;
  result.priority = given.priority;
  result.verbosity = given.verbosity;
  result.infeasible_is_error = decide_infeasible(variables);
  // Last, since it makes a directory: nothing fails after it.
  result.spill_directory = decide_spill_directory(given, variables);
  return result;
}

}  // namespace ray::detail::runtime
