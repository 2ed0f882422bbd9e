/// Options of tasks, actors and calls: aggregates written by name, `{.num_cpus = 2, .name = "x"}`,
/// in the order shown. Absurd values (negative, NaN) throw usage_error when they are used.
#pragma once

#include <ray/amount.hpp>
#include <ray/detail/base/by_name.hpp>
#include <ray/duration.hpp>
#include <ray/id.hpp>

#include <cstddef>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>

namespace ray {

/// Which exceptions of a task are worth another attempt: `retry::never`, `retry::always`,
/// `retry::on<E1, E2>()`.
class retry_policy {
 public:
  using predicate = bool (*)(const std::exception_ptr& error);

  constexpr retry_policy() noexcept = default;
  constexpr explicit retry_policy(predicate matches) noexcept : matches_(matches) {}

  [[nodiscard]] bool matches(const std::exception_ptr& error) const {
    return matches_ != nullptr && matches_(error);
  }
  [[nodiscard]] constexpr bool is_never() const noexcept { return matches_ == nullptr; }

 private:
  predicate matches_ = nullptr;
};

namespace retry {

namespace detail {
template <typename Error>
bool is(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const Error&) {
    return true;
  } catch (...) {
    return false;
  }
}
}  // namespace detail

inline constexpr retry_policy never{};
inline constexpr retry_policy always{[](const std::exception_ptr&) { return true; }};

/// Retries on exceptions of these types, or derived from them.
template <typename... Errors>
[[nodiscard]] constexpr retry_policy on() noexcept {
  return retry_policy(
      [](const std::exception_ptr& error) { return (detail::is<Errors>(error) || ...); });
}

}  // namespace retry

namespace detail {
struct default_scheduling {
  friend bool operator==(default_scheduling, default_scheduling) = default;
};
struct spread_scheduling {
  friend bool operator==(spread_scheduling, spread_scheduling) = default;
};
struct group_state;
}  // namespace detail

/// Fill nodes up to half, then spread.
inline constexpr detail::default_scheduling default_strategy{};
/// Over as many nodes as there are.
inline constexpr detail::spread_scheduling spread{};

/// On this node; when `soft`, elsewhere if it is gone or cannot.
struct node_affinity {
  node_id node = {};
  bool soft = false;
};

/// A bundle of a placement group; made by `placement_group::bundle`.
struct placement_bundle {
  std::shared_ptr<detail::group_state> group = {};
  std::size_t index = 0;
};

/// Where a task or an actor may run.
using scheduling_strategy = std::variant<detail::default_scheduling, detail::spread_scheduling,
                                         node_affinity, placement_bundle>;

/// Of a task; written by name: `{.num_cpus = 2, .name = "x"}`. Absurd values throw usage_error at
/// the call.
struct task_options {
  detail::by_name only_by_name = detail::by_name();
  amount num_cpus = 1, num_gpus = 0;
  std::size_t memory = 0;                          // bytes that the scheduler sets aside
  std::map<std::string, double> resources = {};    // custom resources
  std::map<std::string, std::string> labels = {};  // that the node must carry
  scheduling_strategy scheduling = {};
  std::string name = {};  // default: the function's own name
  int priority = 0;       // among the job's waiting tasks; higher first
  int max_retries = 3;    // after crashes, and for `retry_exceptions`; -1: for ever
  retry_policy retry_exceptions = retry::never;
  duration timeout = forever;      // from the start of the function
  std::size_t stream_buffer = 16;  // unread items before a generator waits
  bool isolated = false;           // in a process that runs nothing else meanwhile
};

/// `scoped`: as long as anyone holds a handle; `detached`: until its job ends or it is killed.
enum class actor_lifetime { scoped, detached };

/// Of an actor, which holds what it asks for as long as it lives.
struct actor_options {
  detail::by_name only_by_name = detail::by_name();
  amount num_cpus = 0, num_gpus = 0;
  std::size_t memory = 0;
  std::map<std::string, double> resources = {};
  std::map<std::string, std::string> labels = {};
  scheduling_strategy scheduling = {};
  std::string name = {}, name_space = {};
  bool get_if_exists = false;
  actor_lifetime lifetime = actor_lifetime::scoped;  // detached needs a name
  int max_concurrency = 1;
  std::map<std::string, int> concurrency_groups = {};
  int max_restarts = 0, max_task_retries = 0;  // -1: for ever
  std::size_t max_pending_calls = 0;           // 0: no limit
  duration checkpoint_every = forever;         // the actor's class must be serializable
  bool isolated = false;
};

/// Of one call; what is not set is as the actor's options say.
struct call_options {
  detail::by_name only_by_name = detail::by_name();
  std::string name = {};
  std::string concurrency_group = {};
  std::optional<int> max_retries = {};
  retry_policy retry_exceptions = retry::never;
  duration timeout = forever;
  std::size_t stream_buffer = 16;
};

/// Of `actor::kill`.
struct kill_options {
  detail::by_name only_by_name = detail::by_name();
  bool restart = false;
};

}  // namespace ray
