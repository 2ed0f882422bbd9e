// A table has a row for each option: its name, its line in the help, what is expected of a value,
// and the function that lays a value over the settings. Taking options out, the help and the error
// of an unknown one all read this table, so a new option is a new row.
#include "runtime/command_line.hpp"

#include <ray/error.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace ray::detail::runtime {

namespace {

constexpr std::string_view option_prefix = "--ray-";
constexpr std::string_view help_option = "--ray-help";

template <typename Number>
std::optional<Number> parse_number(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<amount> parse_amount(std::string_view text) {
  const auto number = parse_number<double>(text);
  if (!number || !amount(*number).valid()) return std::nullopt;
  return amount(*number);
}

/// The factor of "", "K", "KB", "KiB" and their like, in letters of either case.
std::optional<std::uint64_t> parse_size_unit(std::string_view unit) {
  std::string lower(unit);
  for (char& letter : lower) {
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  }
  if (lower.empty() || lower == "b") return 1;
  const auto power = std::string_view("kmgt").find(lower.front());
  const auto rest = std::string_view(lower).substr(1);
  if (power == std::string_view::npos || (!rest.empty() && rest != "b" && rest != "ib")) {
    return std::nullopt;
  }
  std::uint64_t factor = 1;
  for (std::size_t i = 0; i <= power; ++i) factor *= rest == "b" ? 1000 : 1024;
  return factor;
}

std::optional<std::size_t> parse_size(std::string_view text) {
  const auto digits = std::min(text.find_first_not_of("0123456789."), text.size());
  const auto factor = parse_size_unit(text.substr(digits));
  if (!factor) return std::nullopt;
  constexpr std::uint64_t largest = std::numeric_limits<std::int64_t>::max();
  // Whole numbers do not go through a double, which has 53 bits only.
  if (const auto whole = parse_number<std::uint64_t>(text.substr(0, digits))) {
    if (*whole > largest / *factor) return std::nullopt;
    return *whole * *factor;
  }
  const auto number = parse_number<double>(text.substr(0, digits));
  if (!number) return std::nullopt;
  const double bytes = *number * static_cast<double>(*factor);
  if (!(bytes >= 1 && bytes < static_cast<double>(largest))) return std::nullopt;
  return static_cast<std::size_t>(bytes);
}

std::optional<log_level> parse_log_level(std::string_view text) {
  using level = std::pair<std::string_view, log_level>;
  constexpr std::array levels = {level{"debug", log_level::debug}, level{"info", log_level::info},
                                 level{"warning", log_level::warning},
                                 level{"error", log_level::error}, level{"off", log_level::off}};
  for (const auto& [name, value] : levels) {
    if (text == name) return value;
  }
  return std::nullopt;
}

std::string_view trimmed(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  return text.substr(0, text.find_last_not_of(' ') + 1);
}

/// "a=x, b=y" with names that are neither empty nor repeated; `parse` makes a value of a text.
template <typename Value, typename Parse>
std::optional<std::map<std::string, Value>> parse_pairs(std::string_view text, Parse parse) {
  std::map<std::string, Value> result;
  while (!text.empty()) {
    const auto end = std::min(text.find(','), text.size());
    const auto pair = text.substr(0, end);
    const auto equals = pair.find('=');
    // A comma at the end announces a pair that is not there.
    if (equals == std::string_view::npos || end + 1 == text.size()) return std::nullopt;
    const auto name = trimmed(pair.substr(0, equals));
    std::optional<Value> value = parse(trimmed(pair.substr(equals + 1)));
    if (name.empty() || !value) return std::nullopt;
    if (!result.emplace(name, std::move(*value)).second) return std::nullopt;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return result;
}

/// Gives `member` the value, unless it is empty: then the text made no sense.
template <typename Member, typename Value>
bool assign_if_valid(Member& member, std::optional<Value>&& value) {
  if (value) member = std::move(*value);
  return value.has_value();
}

template <auto Member>
bool set_text(config& settings, std::string_view text) {
  settings.*Member = text;
  return true;
}

template <auto Member>
bool set_amount(config& settings, std::string_view text) {
  return assign_if_valid(settings.*Member, parse_amount(text));
}

bool set_resources(config& settings, std::string_view text) {
  const auto parse = [](std::string_view number) {
    return parse_amount(number) ? parse_number<double>(number) : std::nullopt;
  };
  return assign_if_valid(settings.resources, parse_pairs<double>(text, parse));
}

bool set_labels(config& settings, std::string_view text) {
  const auto parse = [](std::string_view label) { return std::optional<std::string>(label); };
  return assign_if_valid(settings.labels, parse_pairs<std::string>(text, parse));
}

bool set_object_store_memory(config& settings, std::string_view text) {
  return assign_if_valid(settings.object_store_memory, parse_size(text));
}

bool set_priority(config& settings, std::string_view text) {
  return assign_if_valid(settings.priority, parse_number<int>(text));
}

bool set_verbosity(config& settings, std::string_view text) {
  return assign_if_valid(settings.verbosity, parse_log_level(text));
}

bool refuse_join(config&, std::string_view text) {
  throw one_process_only("join '" + std::string(text) + "' (--ray-join)", "leave --ray-join away");
}

struct option_row {
  std::string_view name;
  std::string_view value_name;  // for the help
  std::string_view meaning;     // for the help, with the default
  std::string_view expected;    // what a good value is, for errors
  /// Lays the value over the settings; false when it is no good value.
  bool (*apply)(config& settings, std::string_view text);
};

constexpr option_row option_table[] = {
    {"--ray-address", "ADDRESS", "the cluster to join (default: $RAY_ADDRESS, else local)",
     "\"local\", \"auto\" or HOST:PORT", set_text<&config::address>},
    {"--ray-head", "HOST:PORT", "be the head that others join there (default: no head)",
     "HOST:PORT", set_text<&config::head>},
    {"--ray-join", "HOST:PORT", "join the job of this head (default: none)", "HOST:PORT",
     refuse_join},
    {"--ray-num-cpus", "NUMBER", "CPU slots (default: the CPUs this process may run on)",
     "a number, 0 or more, such as 4 or 0.5", set_amount<&config::num_cpus>},
    {"--ray-num-gpus", "NUMBER", "GPU slots (default: 0)", "a number, 0 or more, such as 1 or 0.5",
     set_amount<&config::num_gpus>},
    {"--ray-resources", "A=1,B=0.5", "custom resources (default: none)",
     "NAME=NUMBER pairs, each name once and each number 0 or more, such as disk=2,slow=0.5",
     set_resources},
    {"--ray-labels", "A=X,B=Y", "labels of this node (default: none)",
     "NAME=TEXT pairs, each name once, such as zone=west,disk=ssd", set_labels},
    {"--ray-object-store-memory", "BYTES",
     "spill beyond this; 512M, 1.5GiB (default: 30% of memory)",
     "bytes, or a number with K, M, G, T (as KiB, MiB, GiB, TiB: powers of 1024) or KB, MB, GB, "
     "TB (powers of 1000), such as 512M",
     set_object_store_memory},
    {"--ray-spill-directory", "DIRECTORY", "spill to here (default: $RAY_SPILL_DIR, else $TMPDIR)",
     "a directory", set_text<&config::spill_directory>},
    {"--ray-token", "TEXT", "the cluster's secret, which ps shows (default: $RAY_TOKEN)", "a text",
     set_text<&config::token>},
    {"--ray-job-name", "NAME", "the job's name (default: the executable's)", "a name",
     set_text<&config::job_name>},
    {"--ray-namespace", "NAME", "where actors' names are looked up (default: default)", "a name",
     set_text<&config::name_space>},
    {"--ray-priority", "NUMBER", "among jobs, higher first (default: 0)",
     "a whole number, such as 10 or -1", set_priority},
    {"--ray-verbosity", "LEVEL", "debug, info, warning, error or off (default: warning)",
     "debug, info, warning, error or off", set_verbosity},
};

const option_row* find_option(std::string_view name) {
  for (const auto& option : option_table) {
    if (option.name == name) return &option;
  }
  return nullptr;
}

/// Levenshtein's: the fewest letters to insert, delete or replace.
std::size_t edit_distance(std::string_view from, std::string_view to) {
  std::vector<std::size_t> costs(to.size() + 1);
  std::iota(costs.begin(), costs.end(), std::size_t{0});
  for (std::size_t i = 0; i < from.size(); ++i) {
    std::size_t diagonal = std::exchange(costs[0], i + 1);
    for (std::size_t j = 0; j < to.size(); ++j) {
      const std::size_t replaced = diagonal + (from[i] == to[j] ? 0 : 1);
      diagonal = costs[j + 1];
      costs[j + 1] = std::min({replaced, diagonal + 1, costs[j] + 1});
    }
  }
  return costs.back();
}

/// How far a name that was mistyped is from an option's. A part of the name, as "gpus" is of
/// "num-gpus", is nearer than any other word.
std::size_t difference(std::string_view name, std::string_view option) {
  const auto part = name.substr(option_prefix.size());
  if (!part.empty() && option.find(part) != std::string_view::npos) return 1;
  return 1 + edit_distance(name, option);
}

usage_error unknown_option(std::string_view name) {
  std::string_view nearest = help_option;
  for (const auto& option : option_table) {
    if (difference(name, option.name) < difference(name, nearest)) nearest = option.name;
  }
  return usage_error("ray::init does not know the option '" + std::string(name) +
                     "': did you mean " + std::string(nearest) + "? " + std::string(help_option) +
                     " lists all; arguments after \"--\" are left to the program");
}

usage_error bad_value(const option_row& option, const std::string& problem) {
  return usage_error("ray::init cannot use the option " + std::string(option.name) + ": " +
                     problem + "; expected " + std::string(option.expected));
}

using argument_iterator = std::vector<char*>::const_iterator;

bool is_option(std::string_view argument) { return argument.starts_with(option_prefix); }

/// Applies the option that begins with `*argument`. Returns where the next argument begins.
argument_iterator apply_option(config& settings, argument_iterator argument,
                               argument_iterator end) {
  const std::string_view text = *argument++;
  const auto equals = text.find('=');
  const auto* option = find_option(text.substr(0, equals));
  if (option == nullptr) throw unknown_option(text.substr(0, equals));
  const bool inside = equals != std::string_view::npos;
  // An option of ours is never meant as a value: its own was forgotten.
  if (!inside && (argument == end || is_option(*argument))) {
    throw bad_value(*option, "its value is missing");
  }
  const std::string_view value = inside ? text.substr(equals + 1) : *argument++;
  if (!option->apply(settings, value)) {
    throw bad_value(*option, "'" + std::string(value) + "' is not valid");
  }
  return argument;
}

}  // namespace

command_line take_options(int& argc, char**& argv, const config& given) {
  command_line result = {.settings = given};
  if (argv == nullptr || argc < 2) return result;
  const std::vector<char*> arguments(argv, std::find(argv, argv + argc, nullptr));
  const auto end = std::find(arguments.begin(), arguments.end(), std::string_view("--"));
  std::vector<char*> others;
  auto argument = arguments.begin();
  // The first is the program's name.
  if (argument != end) others.push_back(*argument++);
  // The help is wanted most when something else is wrong.
  result.help_wanted = std::find(argument, end, help_option) != end;
  if (result.help_wanted) return result;

  while (argument != end) {
    if (is_option(*argument)) {
      argument = apply_option(result.settings, argument, end);
    } else {
      others.push_back(*argument++);
    }
  }
  others.insert(others.end(), end, arguments.end());
  if (others.size() == arguments.size()) return result;
  std::copy(others.begin(), others.end(), argv);
  argv[others.size()] = nullptr;
  argc = static_cast<int>(others.size());
  return result;
}

std::string options_help() {
  std::string text =
      "Options of ray, as --ray-NAME=VALUE or --ray-NAME VALUE, anywhere before \"--\":\n";
  const auto add_line = [&](std::string left, std::string_view right) {
    constexpr std::size_t width = 36;
    left.resize(std::max(left.size() + 1, width), ' ');
    text.append("  ").append(left).append(right).append("\n");
  };
  for (const auto& option : option_table) {
    add_line(std::string(option.name) + "=" + std::string(option.value_name), option.meaning);
  }
  add_line(std::string(help_option), "print this and exit");
  text +=
      "Environment, for what neither the command line nor the program sets:\n"
      "  RAY_ADDRESS                         the cluster to join\n"
      "  RAY_SPILL_DIR                       where objects are spilled to\n"
      "  RAY_TOKEN                           the cluster's secret, else\n"
      "  RAY_TOKEN_FILE                      a file that holds it, else ~/.ray/token\n"
      "  RAY_INFEASIBLE=error                what can never run fails instead of waiting\n";
  return text;
}

session_options resolve_options(int& argc, char**& argv, const config& given,
                                const environment& variables) {
  const auto parsed = take_options(argc, argv, given);
  if (parsed.help_wanted) {
    std::fputs(options_help().c_str(), stdout);
    std::exit(EXIT_SUCCESS);
  }
  return resolve_options(parsed.settings, variables);
}

}  // namespace ray::detail::runtime
