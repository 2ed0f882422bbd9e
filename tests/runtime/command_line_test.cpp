#include "runtime/command_line.hpp"

#include <ray/error.hpp>

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <initializer_list>
#include <string>
#include <vector>

namespace {

using namespace ray::detail::runtime;

/// The arguments of a `main`.
class arguments {
 public:
  arguments(std::initializer_list<const char*> words) : words_(words.begin(), words.end()) {
    for (auto& word : words_) pointers_.push_back(word.data());
    pointers_.push_back(nullptr);
    count = static_cast<int>(words_.size());
    values = pointers_.data();
  }

  /// Those that are left, which a null pointer must end.
  std::vector<std::string> left() const {
    REQUIRE(values[count] == nullptr);
    return {values, values + count};
  }

  int count;
  char** values;

 private:
  std::vector<std::string> words_;
  std::vector<char*> pointers_;
};

ray::config settings_of(std::initializer_list<const char*> options, const ray::config& given = {}) {
  std::vector<std::string> words = {"program"};
  words.insert(words.end(), options.begin(), options.end());
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (auto& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  int count = static_cast<int>(words.size());
  char** values = pointers.data();
  return take_options(count, values, given).settings;
}

/// What the usage_error says that `take_options` throws, empty when it throws none.
std::string complaint_of(std::initializer_list<const char*> options) {
  try {
    settings_of(options);
  } catch (const ray::usage_error& error) {
    return error.what();
  }
  return {};
}

bool says(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

using names = std::vector<std::string>;

}  // namespace

TEST_CASE("the options of ray are taken out, all others stay in order") {
  arguments main{
      "program", "--ray-num-cpus=4", "input.txt", "--ray-job-name", "prices", "--rayon", "-x",
      "--ray",   "--ray-priority",   "-5",        "output.md"};
  const auto found = take_options(main.count, main.values, {});
  CHECK(main.left() == names{"program", "input.txt", "--rayon", "-x", "--ray", "output.md"});
  CHECK_FALSE(found.help_wanted);
  CHECK(found.settings.num_cpus == ray::amount(4));
  CHECK(found.settings.job_name == "prices");
  CHECK(found.settings.priority == -5);
}

TEST_CASE("what stands behind -- is the program's, and so is the --") {
  arguments main{"program", "--ray-priority=1", "a", "--", "--ray-priority=2", "--ray-nonsense"};
  CHECK(take_options(main.count, main.values, {}).settings.priority == 1);
  CHECK(main.left() == names{"program", "a", "--", "--ray-priority=2", "--ray-nonsense"});
  CHECK(says(complaint_of({"--ray-priority", "--"}), "its value is missing"));
}

TEST_CASE("arguments without options of ray, and none at all") {
  arguments plain{"program", "a", "--", "b"};
  (void)take_options(plain.count, plain.values, {});
  CHECK(plain.left() == names{"program", "a", "--", "b"});

  arguments only_name{"--ray-num-cpus=1"};
  CHECK_FALSE(take_options(only_name.count, only_name.values, {}).settings.num_cpus);
  CHECK(only_name.left() == names{"--ray-num-cpus=1"});

  arguments nothing{};
  (void)take_options(nothing.count, nothing.values, {});
  CHECK(nothing.left().empty());
  int count = 0;
  char** values = nullptr;
  CHECK(take_options(count, values, {.priority = 3}).settings.priority == 3);
}

TEST_CASE("every member of config has an option") {
  const auto settings =
      settings_of({"--ray-address=local", "--ray-head=here:1", "--ray-num-cpus=1.5",
                   "--ray-num-gpus=0.25", "--ray-resources=a=1,b=0.5",
                   "--ray-labels=zone=west,disk=ssd", "--ray-object-store-memory=512M",
                   "--ray-spill-directory=/some/where", "--ray-token=secret", "--ray-job-name=name",
                   "--ray-namespace=space", "--ray-priority=7", "--ray-verbosity=debug"});
  CHECK(settings.address == "local");
  CHECK(settings.head == "here:1");
  CHECK(settings.num_cpus == ray::amount(1.5));
  CHECK(settings.num_gpus == ray::amount(0.25));
  CHECK(settings.resources == std::map<std::string, double>{{"a", 1}, {"b", 0.5}});
  CHECK(settings.labels == std::map<std::string, std::string>{{"zone", "west"}, {"disk", "ssd"}});
  CHECK(settings.object_store_memory == std::size_t{512} << 20);
  CHECK(settings.spill_directory == "/some/where");
  CHECK(settings.token == "secret");
  CHECK(settings.job_name == "name");
  CHECK(settings.name_space == "space");
  CHECK(settings.priority == 7);
  CHECK(settings.verbosity == ray::log_level::debug);
}

TEST_CASE("the command line wins over config, member by member") {
  const ray::config given = {
      .num_cpus = 2, .resources = {{"a", 1}}, .job_name = "config", .priority = 1};
  const auto settings = settings_of({"--ray-num-cpus=3", "--ray-resources=b=2"}, given);
  CHECK(settings.num_cpus == ray::amount(3));
  CHECK(settings.resources == std::map<std::string, double>{{"b", 2}});
  CHECK(settings.job_name == "config");
  CHECK(settings.priority == 1);
  CHECK(settings_of({"--ray-resources="}, given).resources.empty());
  CHECK(settings_of({"--ray-job-name="}, given).job_name.empty());
}

TEST_CASE("of an option that stands twice the last counts") {
  CHECK(settings_of({"--ray-priority=1", "--ray-priority", "2"}).priority == 2);
}

TEST_CASE("a value may hold equals signs") {
  CHECK(settings_of({"--ray-token=a=b=="}).token == "a=b==");
  CHECK(settings_of({"--ray-labels=query=x=1"}).labels.at("query") == "x=1");
}

TEST_CASE("names and values of lists are trimmed") {
  const auto settings = settings_of({"--ray-resources= a = 1 , b=2 ", "--ray-labels= k =v v, e="});
  CHECK(settings.resources == std::map<std::string, double>{{"a", 1}, {"b", 2}});
  CHECK(settings.labels == std::map<std::string, std::string>{{"k", "v v"}, {"e", ""}});
}

TEST_CASE("sizes are bytes with or without a unit") {
  const auto size_of = [](const std::string& text) {
    return settings_of({"--ray-object-store-memory", text.c_str()}).object_store_memory;
  };
  CHECK(size_of("0") == 0);
  CHECK(size_of("1") == 1);
  CHECK(size_of("512B") == 512);
  CHECK(size_of("3K") == 3072);
  CHECK(size_of("3k") == 3072);
  CHECK(size_of("3KiB") == 3072);
  CHECK(size_of("3KB") == 3000);
  CHECK(size_of("2m") == 2097152);
  CHECK(size_of("2MB") == 2000000);
  CHECK(size_of("1.5G") == 1610612736);
  CHECK(size_of("1.5gb") == 1500000000);
  CHECK(size_of("1T") == std::size_t{1} << 40);
  CHECK(size_of("2TB") == 2000000000000);
  CHECK(size_of("9007199254740993") == 9007199254740993);
  CHECK(size_of("9223372036854775807") == 9223372036854775807);
  for (const char* bad : {"",         "K",
                          "-1",       "+1",
                          "1 K",      " 1",
                          "1X",       "1KK",
                          "1KiBs",    "1i",
                          "1.2.3",    ".",
                          "0.4",      "1e9",
                          "nan",      "9223372036854775808",
                          "8388608T", "99999999999999999999",
                          "9e",       "1.5P"}) {
    CAPTURE(std::string(bad));
    const auto complaint = complaint_of({"--ray-object-store-memory", bad});
    CHECK(says(complaint, "--ray-object-store-memory"));
    CHECK(says(complaint, "'" + std::string(bad) + "'"));
    CHECK(says(complaint, "powers of 1024"));
  }
}

TEST_CASE("levels of verbosity") {
  CHECK(settings_of({"--ray-verbosity=debug"}).verbosity == ray::log_level::debug);
  CHECK(settings_of({"--ray-verbosity=info"}).verbosity == ray::log_level::info);
  CHECK(settings_of({"--ray-verbosity=warning"}).verbosity == ray::log_level::warning);
  CHECK(settings_of({"--ray-verbosity=error"}).verbosity == ray::log_level::error);
  CHECK(settings_of({"--ray-verbosity=off"}).verbosity == ray::log_level::off);
}

TEST_CASE("bad values are named with their option and what is expected") {
  struct bad {
    const char* option;
    const char* value;
    const char* expected;
  };
  for (const auto& [option, value, expected] : std::initializer_list<bad>{
           {"--ray-num-cpus", "many", "a number, 0 or more"},
           {"--ray-num-cpus", "", "a number, 0 or more"},
           {"--ray-num-cpus", "-1", "a number, 0 or more"},
           {"--ray-num-cpus", "nan", "a number, 0 or more"},
           {"--ray-num-cpus", "inf", "a number, 0 or more"},
           {"--ray-num-cpus", "1e999", "a number, 0 or more"},
           {"--ray-num-cpus", "1e300", "a number, 0 or more"},
           {"--ray-num-cpus", "4 ", "a number, 0 or more"},
           {"--ray-num-cpus", "0x10", "a number, 0 or more"},
           {"--ray-num-gpus", "-0.5", "a number, 0 or more"},
           {"--ray-resources", "a", "NAME=NUMBER"},
           {"--ray-resources", "=1", "NAME=NUMBER"},
           {"--ray-resources", " =1", "NAME=NUMBER"},
           {"--ray-resources", "a=", "NAME=NUMBER"},
           {"--ray-resources", "a=-1", "NAME=NUMBER"},
           {"--ray-resources", "a=nan", "NAME=NUMBER"},
           {"--ray-resources", "a=1,a=2", "each name once"},
           {"--ray-resources", "a=1,", "NAME=NUMBER"},
           {"--ray-resources", ",a=1", "NAME=NUMBER"},
           {"--ray-resources", "{\"a\": 1}", "disk=2,slow=0.5"},
           {"--ray-labels", "a", "NAME=TEXT"},
           {"--ray-labels", "=x", "NAME=TEXT"},
           {"--ray-labels", "a=x,a=y", "each name once"},
           {"--ray-priority", "1.5", "a whole number"},
           {"--ray-priority", "99999999999", "a whole number"},
           {"--ray-priority", "", "a whole number"},
           {"--ray-verbosity", "loud", "debug, info, warning, error or off"},
           {"--ray-verbosity", "Debug", "debug, info, warning, error or off"},
       }) {
    CAPTURE(std::string(option));
    CAPTURE(std::string(value));
    for (const auto& complaint : {complaint_of({option, value}),
                                  complaint_of({(option + ("=" + std::string(value))).c_str()})}) {
      CHECK(says(complaint, "ray::init"));
      CHECK(says(complaint, option));
      CHECK(says(complaint, "'" + std::string(value) + "'"));
      CHECK(says(complaint, expected));
    }
  }
}

TEST_CASE("a value that is missing") {
  CHECK(says(complaint_of({"--ray-num-cpus"}), "--ray-num-cpus: its value is missing"));
  CHECK(says(complaint_of({"--ray-token", "--ray-priority=1"}), "--ray-token: its value"));
}

TEST_CASE("unknown options are refused, with the nearest known one") {
  struct typo {
    const char* given;
    const char* nearest;
  };
  for (const auto& [given, nearest] :
       std::initializer_list<typo>{{"--ray-num-cpu=4", "--ray-num-cpus?"},
                                   {"--ray-num_cpus=4", "--ray-num-cpus?"},
                                   {"--ray-gpus", "--ray-num-gpus?"},
                                   {"--ray-adress=here", "--ray-address?"},
                                   {"--ray-name-space=x", "--ray-namespace?"},
                                   {"--ray-resource=a=1", "--ray-resources?"},
                                   {"--ray-verbose", "--ray-verbosity?"},
                                   {"--ray-Priority=1", "--ray-priority?"},
                                   {"--ray-hlp", "--ray-help?"},
                                   {"--ray-help=all", "--ray-help?"},
                                   {"--ray-spill-dir=/tmp", "--ray-spill-directory?"}}) {
    CAPTURE(std::string(given));
    const auto complaint = complaint_of({given});
    const std::string name = given;
    CHECK(says(complaint, "'" + name.substr(0, name.find('=')) + "'"));
    CHECK(says(complaint, "did you mean " + std::string(nearest)));
  }
  CHECK_FALSE(complaint_of({"--ray-"}).empty());
  CHECK_FALSE(complaint_of({"--ray-=1"}).empty());
}

TEST_CASE("after an error the arguments are as they were") {
  arguments main{"program", "--ray-priority=1", "a", "--ray-nonsense", "b"};
  CHECK_THROWS_AS((void)take_options(main.count, main.values, {}), ray::usage_error);
  CHECK(main.left() == names{"program", "--ray-priority=1", "a", "--ray-nonsense", "b"});
}

TEST_CASE("another process's job cannot be joined yet") {
  const auto complaint = complaint_of({"--ray-join=10.0.0.1:6379"});
  CHECK(says(complaint, "10.0.0.1:6379"));
  CHECK(says(complaint, "one process only"));
  arguments main{"program", "--ray-address=10.0.0.1:6379"};
  CHECK_THROWS_AS((void)resolve_options(main.count, main.values, {}, {}), ray::usage_error);
}

TEST_CASE("the help names every option in a line, with its default") {
  const auto help = options_help();
  for (const char* option :
       {"--ray-address=", "--ray-head=", "--ray-join=", "--ray-num-cpus=", "--ray-num-gpus=",
        "--ray-resources=", "--ray-labels=", "--ray-object-store-memory=", "--ray-spill-directory=",
        "--ray-token=", "--ray-job-name=", "--ray-namespace=", "--ray-priority=",
        "--ray-verbosity="}) {
    CAPTURE(std::string(option));
    const auto start = help.find("\n  " + std::string(option));
    REQUIRE(start != std::string::npos);
    const auto line = help.substr(start + 1, help.find('\n', start + 1) - start - 1);
    CHECK(says(line, "(default: "));
    CHECK(line.size() <= 100);
  }
  CHECK(says(help, "\n  --ray-help "));
  CHECK(says(help, "RAY_INFEASIBLE=error"));
  CHECK(help.back() == '\n');
}

TEST_CASE("the help is wanted, whatever else is wrong") {
  arguments main{"program", "--ray-nonsense", "--ray-help"};
  CHECK(take_options(main.count, main.values, {}).help_wanted);
  arguments behind{"program", "--", "--ray-help"};
  CHECK_FALSE(take_options(behind.count, behind.values, {}).help_wanted);
}

TEST_CASE("--ray-help prints the help and exits with 0") {
  std::array<int, 2> ends;
  REQUIRE(::pipe(ends.data()) == 0);
  std::fflush(nullptr);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ::dup2(ends[1], STDOUT_FILENO);
    ::close(ends[0]);
    ::close(ends[1]);
    arguments main{"program", "--ray-help"};
    (void)resolve_options(main.count, main.values, {}, {});
    ::_exit(1);
  }
  ::close(ends[1]);
  std::string output;
  std::array<char, 512> part;
  for (ssize_t count; (count = ::read(ends[0], part.data(), part.size())) > 0;) {
    output.append(part.data(), static_cast<std::size_t>(count));
  }
  ::close(ends[0]);
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  CHECK(output == options_help());
}
