#include "runtime/session_options.hpp"

#include "runtime/command_line.hpp"
#include "system/host.hpp"
#include "system/process.hpp"

#include <ray/error.hpp>

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>

namespace {

using namespace ray::detail;
using namespace ray::detail::runtime;

class temporary_folder {
 public:
  temporary_folder() {
    std::string name = (std::filesystem::temp_directory_path() / "options-test-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~temporary_folder() { std::filesystem::remove_all(path_); }
  temporary_folder(const temporary_folder&) = delete;
  temporary_folder& operator=(const temporary_folder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// What the usage_error says, empty when none is thrown.
std::string complaint_of(const ray::config& given, const environment& variables = {}) {
  try {
    (void)resolve_options(given, variables);
  } catch (const ray::usage_error& error) {
    return error.what();
  }
  return {};
}

bool says(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("what nobody sets is found out from the machine") {
  const auto options = resolve_options({}, {});
  CHECK(options.num_cpus == ray::amount(system::cpu_count()));
  CHECK(options.num_gpus == ray::amount(0));
  CHECK(options.resources.empty());
  CHECK(options.labels.empty());
  CHECK(options.object_store_memory == system::memory_limit() / 10 * 3);
  CHECK(options.spill_directory == std::filesystem::temp_directory_path());
  CHECK(options.token.empty());
  CHECK(options.job_name == system::executable_path().filename());
  CHECK(options.name_space == "default");
  CHECK(options.priority == 0);
  CHECK(options.verbosity == ray::log_level::warning);
  CHECK_FALSE(options.infeasible_is_error);
}

TEST_CASE("what config says is kept") {
  const temporary_folder folder;
  const auto options = resolve_options({.num_cpus = 100'000,
                                        .num_gpus = 0.5,
                                        .resources = {{"disk", 2.5}, {"none", 0}},
                                        .labels = {{"zone", "west"}, {"plain", ""}},
                                        .object_store_memory = 1,
                                        .spill_directory = folder.path(),
                                        .token = "secret",
                                        .job_name = "prices",
                                        .name_space = "mine",
                                        .priority = -3,
                                        .verbosity = ray::log_level::off},
                                       {});
  CHECK(options.num_cpus == ray::amount(100'000));
  CHECK(options.num_gpus == ray::amount(0.5));
  CHECK(options.resources == std::map<std::string, double>{{"disk", 2.5}, {"none", 0}});
  CHECK(options.labels == std::map<std::string, std::string>{{"zone", "west"}, {"plain", ""}});
  CHECK(options.object_store_memory == 1);
  CHECK(options.spill_directory == folder.path());
  CHECK(options.token == "secret");
  CHECK(options.job_name == "prices");
  CHECK(options.name_space == "mine");
  CHECK(options.priority == -3);
  CHECK(options.verbosity == ray::log_level::off);
  CHECK(resolve_options({.num_cpus = 0}, {}).num_cpus == ray::amount(0));
  CHECK(resolve_options({.name_space = ""}, {}).name_space == "default");
}

TEST_CASE("absurd values are refused by name") {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  constexpr double infinity = std::numeric_limits<double>::infinity();
  for (const double absurd : {-1.0, nan, infinity, 1e300}) {
    CAPTURE(absurd);
    CHECK(says(complaint_of({.num_cpus = absurd}), "config::num_cpus"));
    CHECK(says(complaint_of({.num_gpus = absurd}), "config::num_gpus"));
    CHECK(says(complaint_of({.resources = {{"disk", absurd}}}), "config::resources: 'disk' is"));
  }
  CHECK(says(complaint_of({.resources = {{"", 1}}}), "empty name"));
  for (const char* reserved : {"CPU", "GPU", "memory"}) {
    CHECK(says(complaint_of({.resources = {{reserved, 1}}}), "is not a custom resource"));
  }
  CHECK(says(complaint_of({.labels = {{"", "x"}}}), "config::labels"));
  CHECK(says(complaint_of({.verbosity = static_cast<ray::log_level>(17)}), "config::verbosity"));
}

TEST_CASE("addresses that mean this process alone") {
  for (const char* address : {"", "local", "auto"}) {
    CAPTURE(std::string(address));
    CHECK(complaint_of({.address = address}).empty());
    CHECK(complaint_of({.address = address}, {{"RAY_ADDRESS", ""}}).empty());
    CHECK(complaint_of({.address = address}, {{"RAY_ADDRESS", "local"}}).empty());
    CHECK(complaint_of({.address = address}, {{"RAY_ADDRESS", "auto"}}).empty());
  }
  CHECK(complaint_of({.address = "local"}, {{"RAY_ADDRESS", "10.0.0.1:6379"}}).empty());
}

TEST_CASE("a cluster is refused, with the remedy") {
  for (const char* address : {"10.0.0.1:6379", "slurm", "mpi", "ray://host:1", "Local"}) {
    CAPTURE(std::string(address));
    const auto complaint = complaint_of({.address = address});
    CHECK(says(complaint, "'" + std::string(address) + "'"));
    CHECK(says(complaint, "one process only"));
    CHECK(says(complaint, "use \"local\""));
  }
  for (const char* address : {"", "auto"}) {
    const auto complaint = complaint_of({.address = address}, {{"RAY_ADDRESS", "10.0.0.1:6379"}});
    CHECK(says(complaint, "'10.0.0.1:6379' (from the environment's RAY_ADDRESS)"));
    CHECK(says(complaint, "one process only"));
    CHECK(says(complaint, "unset RAY_ADDRESS"));
  }
  CHECK(says(complaint_of({.head = "0.0.0.0:6379"}), "be the head at '0.0.0.0:6379'"));
}

TEST_CASE("the spill directory: config, then the environment, then the system's") {
  const temporary_folder first, second;
  const environment variables = {{"RAY_SPILL_DIR", second.path().string()}};
  CHECK(resolve_options({.spill_directory = first.path()}, variables).spill_directory ==
        first.path());
  CHECK(resolve_options({}, variables).spill_directory == second.path());
  CHECK(resolve_options({}, {{"RAY_SPILL_DIR", ""}}).spill_directory ==
        std::filesystem::temp_directory_path());
  CHECK(std::filesystem::is_empty(first.path()));
  CHECK(std::filesystem::is_empty(second.path()));
}

TEST_CASE("a spill directory that does not exist is made") {
  const temporary_folder folder;
  const auto directory = folder.path() / "a" / "b";
  CHECK(resolve_options({.spill_directory = directory}, {}).spill_directory == directory);
  CHECK(std::filesystem::is_directory(directory));
}

TEST_CASE("a relative spill directory is kept through a change of directory") {
  const temporary_folder folder;
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  const auto options = resolve_options({.spill_directory = "spill"}, {});
  std::filesystem::current_path(before);
  CHECK(options.spill_directory == folder.path() / "spill");
  CHECK(std::filesystem::is_directory(folder.path() / "spill"));
}

TEST_CASE("a spill directory that cannot be used is refused") {
  const temporary_folder folder;
  std::ofstream(folder.path() / "file") << "x";
  // Not even root makes files in /proc.
  for (const std::filesystem::path& directory :
       {folder.path() / "file", folder.path() / "file/below", std::filesystem::path("/proc"),
        std::filesystem::path("/proc/below")}) {
    CAPTURE(directory);
    const auto complaint = complaint_of({.spill_directory = directory});
    CHECK(says(complaint, "'" + directory.string() + "'"));
    CHECK(says(complaint, "config::spill_directory"));
    CHECK(says(complaint_of({}, {{"RAY_SPILL_DIR", directory.string()}}),
               "from the environment's RAY_SPILL_DIR"));
  }
}

TEST_CASE("a spill directory without the right to write is refused") {
  if (::geteuid() == 0) return;  // root may write everywhere
  const temporary_folder folder;
  REQUIRE(::chmod(folder.path().c_str(), 0500) == 0);
  CHECK(says(complaint_of({.spill_directory = folder.path()}), "Permission denied"));
  CHECK(says(complaint_of({.spill_directory = folder.path() / "below"}), "Permission denied"));
}

TEST_CASE("nothing is made when another option is refused") {
  const temporary_folder folder;
  const auto directory = folder.path() / "spill";
  CHECK_FALSE(complaint_of({.num_cpus = -1, .spill_directory = directory}).empty());
  CHECK_FALSE(complaint_of({.spill_directory = directory}, {{"RAY_INFEASIBLE", "x"}}).empty());
  CHECK_FALSE(std::filesystem::exists(directory));
}

TEST_CASE("the token: config, RAY_TOKEN, the file RAY_TOKEN_FILE, ~/.ray/token") {
  const temporary_folder folder;
  const auto file = folder.path() / "secret";
  std::ofstream(file) << "  from a file \n";
  std::filesystem::create_directory(folder.path() / ".ray");
  std::ofstream(folder.path() / ".ray/token") << "from home\r\n";
  environment variables = {{"RAY_TOKEN", "from a variable"},
                           {"RAY_TOKEN_FILE", file.string()},
                           {"HOME", folder.path().string()}};
  CHECK(resolve_options({.token = "from config"}, variables).token == "from config");
  CHECK(resolve_options({}, variables).token == "from a variable");
  variables["RAY_TOKEN"] = "";
  CHECK(resolve_options({}, variables).token == "from a file");
  variables["RAY_TOKEN_FILE"] = "";
  CHECK(resolve_options({}, variables).token == "from home");
  std::filesystem::remove(folder.path() / ".ray/token");
  CHECK(resolve_options({}, variables).token.empty());
}

TEST_CASE("a RAY_TOKEN_FILE that cannot be read is refused") {
  const temporary_folder folder;
  std::ofstream(folder.path() / "blank") << " \n";
  const auto complaint = complaint_of({}, {{"RAY_TOKEN_FILE", "/no/such/token"}});
  CHECK(says(complaint, "'/no/such/token'"));
  CHECK(says(complaint, "RAY_TOKEN_FILE"));
  CHECK(says(complaint, "No such file"));
  CHECK(says(complaint_of({}, {{"RAY_TOKEN_FILE", folder.path() / "blank"}}), "it is empty"));
  CHECK_FALSE(complaint_of({}, {{"RAY_TOKEN_FILE", folder.path()}}).empty());
}

TEST_CASE("RAY_INFEASIBLE is error or nothing") {
  CHECK(resolve_options({}, {{"RAY_INFEASIBLE", "error"}}).infeasible_is_error);
  CHECK_FALSE(resolve_options({}, {{"RAY_INFEASIBLE", ""}}).infeasible_is_error);
  const auto complaint = complaint_of({}, {{"RAY_INFEASIBLE", "yes"}});
  CHECK(says(complaint, "RAY_INFEASIBLE"));
  CHECK(says(complaint, "'yes'"));
}

TEST_CASE("the command line wins over config, config over the environment") {
  const temporary_folder folder;
  const auto resolved = [](std::string option, const ray::config& given,
                           const environment& variables) {
    std::string program = "program";
    std::array<char*, 3> arguments = {program.data(), option.data(), nullptr};
    int count = option.empty() ? 1 : 2;
    char** values = arguments.data();
    auto options = resolve_options(count, values, given, variables);
    CHECK(count == 1);
    CHECK(values[1] == (option.empty() ? option.data() : nullptr));
    return options;
  };
  const ray::config given = {.spill_directory = folder.path() / "config", .token = "config"};
  const environment variables = {{"RAY_TOKEN", "environment"},
                                 {"RAY_SPILL_DIR", folder.path() / "environment"}};
  CHECK(resolved("--ray-token=line", given, variables).token == "line");
  CHECK(resolved("", given, variables).token == "config");
  CHECK(resolved("", {}, variables).token == "environment");
  CHECK(resolved("--ray-token=", given, variables).token == "environment");
  const auto spill_option = "--ray-spill-directory=" + (folder.path() / "line").string();
  CHECK(resolved(spill_option, given, variables).spill_directory == folder.path() / "line");
  CHECK(resolved("", given, variables).spill_directory == folder.path() / "config");
  CHECK(resolved("", {}, variables).spill_directory == folder.path() / "environment");
  CHECK(resolved("--ray-address=local", {.address = "10.0.0.1:1"}, {{"RAY_ADDRESS", "h:1"}})
            .job_name == system::executable_path().filename());
}

TEST_CASE("the variables of this process") {
  REQUIRE(::setenv("RAY_INFEASIBLE", "error", 1) == 0);
  CHECK(process_environment().at("RAY_INFEASIBLE") == "error");
  REQUIRE(::unsetenv("RAY_INFEASIBLE") == 0);
  CHECK_FALSE(process_environment().contains("RAY_INFEASIBLE"));
  CHECK_FALSE(process_environment().contains("PATH"));
}
