/// The command line's part in the options of a session: each member of `config` has an option
/// `--ray-NAME`, which wins over it. The options are taken out of the arguments, so that the
/// program sees only its own.
#pragma once

#include "runtime/session_options.hpp"

#include <ray/config.hpp>

#include <string>

namespace ray::detail::runtime {

/// Decides every option, with the command line above all; takes the options of ray out of it.
/// Prints the help and exits with 0 when that is asked for.
[[nodiscard]] session_options resolve_options(int& argc, char**& argv, const config& given,
                                              const environment& variables = process_environment());

/// What `take_options` found.
struct command_line {
  config settings = {};  // those given, with the command line laid over them
  bool help_wanted = false;
};

/// Takes every `--ray-NAME=VALUE` and `--ray-NAME VALUE` out of the arguments, up to a `--`, which
/// stays with all that follows. The others keep their order, and `argv` stays null-terminated. Of
/// an option that stands twice the last counts. Throws `usage_error`, and leaves the arguments as
/// they are, when an option is unknown or its value makes no sense.
[[nodiscard]] command_line take_options(int& argc, char**& argv, const config& given);

/// What `--ray-help` prints: each option in a line, with its default, and the environment.
[[nodiscard]] std::string options_help();

}  // namespace ray::detail::runtime
