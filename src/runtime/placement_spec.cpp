#include "runtime/placement_spec.hpp"

#include "runtime/task_extra.hpp"

#include <ray/detail/runtime/actor_state.hpp>
#include <ray/error.hpp>

#include <variant>

namespace ray::detail {
namespace {

using strategy_spec = decltype(head::class_spec::strategy);

strategy_spec strategy_of(const scheduling_strategy& strategy, const std::string& what) {
  if (std::holds_alternative<spread_scheduling>(strategy)) return head::spread_out{};
  if (const auto* affinity = std::get_if<node_affinity>(&strategy)) {
    return head::on_node{affinity->node, affinity->soft};
  }
  if (const auto* bundle = std::get_if<placement_bundle>(&strategy)) {
    if (bundle->group == nullptr) {
      throw usage_error("ray: " + what +
                        " asks for a bundle of an empty placement group; make the group first");
    }
    return head::in_bundle{bundle->group->id, static_cast<std::int64_t>(bundle->index)};
  }
  return head::anywhere{};
}

[[noreturn]] void throw_absurd(const std::string& what, const std::string& problem) {
  throw usage_error("ray: " + what + ": " + problem);
}

template <typename Options>
head::class_spec spec_from(const Options& options, const std::string& what) {
  head::class_spec spec;
  spec.resources =
      head::resource_set(options.num_cpus, options.num_gpus, options.memory, options.resources);
  if (const auto problem = spec.resources.problem()) throw_absurd(what, *problem);
  spec.labels = options.labels;
  spec.strategy = strategy_of(options.scheduling, what);
  spec.isolated = options.isolated;
  return spec;
}

void require_not_isolated(bool isolated, const std::string& what) {
  if (!isolated) return;
  throw_absurd(what,
               "isolated needs a second process, which a session of one process does not start; "
               "leave the option out");
}

}  // namespace

head::class_spec spec_of(const task_options& options, const std::string& what) {
  head::class_spec spec = spec_from(options, what);
  spec.priority = options.priority;
  return spec;
}

head::class_spec spec_of(const actor_options& options, const std::string& what) {
  return spec_from(options, what);
}

void check_task_options(const task_options& options, const std::string& what) {
  require_not_isolated(options.isolated, what);
  if (options.max_retries < -1) {
    throw_absurd(what, "max_retries is " + std::to_string(options.max_retries) +
                           "; it is a count, or -1 for ever");
  }
  if (options.timeout <= duration::zero()) {
    throw_absurd(what, "timeout is not positive; leave it out for no limit (ray::forever)");
  }
  if (options.stream_buffer == 0) {
    throw_absurd(what, "stream_buffer is 0; a stream needs room for one item at least");
  }
  static_cast<void>(spec_of(options, what));
}

void check_actor_options(const actor_options& options, const actor_state& state) {
  const std::string what =
      "actor '" + (options.name.empty() ? type_name(state.type()) : options.name) + "'";
  require_not_isolated(options.isolated, what);
  if (options.max_concurrency < 1) {
    throw_absurd(what, "max_concurrency is " + std::to_string(options.max_concurrency) +
                           "; it must be at least 1");
  }
  for (const auto& [name, limit] : options.concurrency_groups) {
    if (name.empty()) throw_absurd(what, "a concurrency group has no name");
    if (limit < 1) {
      throw_absurd(what, "concurrency group '" + name + "' has a limit of " +
                             std::to_string(limit) + "; it must be at least 1");
    }
  }
  if (options.max_restarts < -1 || options.max_task_retries < -1) {
    throw_absurd(what, "max_restarts and max_task_retries are counts, or -1 for ever");
  }
  if (options.lifetime == actor_lifetime::detached && options.name.empty()) {
    throw_absurd(what, "a detached actor needs a name by which it can be found");
  }
  if (options.get_if_exists && options.name.empty()) {
    throw_absurd(what, "get_if_exists needs a name");
  }
  if (options.checkpoint_every != forever && !state.can_checkpoint()) {
    throw_absurd(
        what, "checkpoint_every needs a serializable class; give it a cereal serialize function");
  }
  if (options.checkpoint_every < duration::zero()) {
    throw_absurd(what, "checkpoint_every is negative");
  }
  static_cast<void>(spec_of(options, what));
}

}  // namespace ray::detail
