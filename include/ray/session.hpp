/// The session: from `ray::init` to the end of the object that it returns.
#pragma once

#include <ray/config.hpp>
#include <ray/duration.hpp>

#include <cstdint>
#include <utility>

namespace ray {

/// Ends the session when it is destroyed, unless that has ended before. Empty by default and when
/// moved from.
class session {
 public:
  session() noexcept = default;
  session(session&& other) noexcept : number_(std::exchange(other.number_, 0)) {}
  session& operator=(session&& other) noexcept;
  ~session();

  [[nodiscard]] explicit operator bool() const noexcept { return number_ != 0; }

 private:
  friend session init(config);
  friend session init(int& argc, char**& argv, config);
  explicit session(std::uint64_t number) noexcept : number_(number) {}

  std::uint64_t number_ = 0;  // sessions of a process are counted; 0: none
};

/// Starts the session of this process. Throws usage_error when one runs, and for absurd options.
[[nodiscard(
    "the session ends with the object that init returns: keep it in a variable of main")]] session
init(config options = config());

/// As above, and takes the `--ray-` options out of the command line, which wins over `options`;
/// `--ray-help` lists them and exits.
[[nodiscard(
    "the session ends with the object that init returns: keep it in a variable of main")]] session
init(int& argc, char**& argv, config options = config());

/// Whether a session runs.
[[nodiscard]] bool is_initialized() noexcept;

/// Ends the session: drops what waits, asks what runs to stop and joins it, frees everything. Does
/// nothing without a session. Throws usage_error when called by a task, which would join itself.
void shutdown();

}  // namespace ray
