/// An actor as its handles see it: two counts and the functions of its class. What it does is in
/// `actor_core` (src/runtime/actor_core.hpp); the class's own part is made by the template that
/// created it.
#pragma once

#include <ray/detail/base/value_operations.hpp>
#include <ray/detail/runtime/object.hpp>
#include <ray/id.hpp>
#include <ray/options.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <typeinfo>
#include <utility>

namespace ray::detail {

class actor_core;

/// The state of an actor's class, type-erased. Calls of it never overlap with each other; a method
/// runs in between only when `max_concurrency` allows.
class actor_state {
 public:
  virtual ~actor_state() = default;
  [[nodiscard]] virtual const std::type_info& type() const noexcept = 0;
  /// The object, or null while there is none.
  [[nodiscard]] virtual void* get() noexcept = 0;
  virtual void destroy() noexcept = 0;
  /// Whether `save` and `load` may be called.
  [[nodiscard]] virtual bool can_checkpoint() const noexcept = 0;
  virtual void save(byte_sink& sink) = 0;
  virtual void load(byte_source& source) = 0;
};

/// Makes the books of an actor; the caller has its first handle. Throws usage_error.
[[nodiscard]] actor_core* new_actor(actor_options options, std::unique_ptr<actor_state> state);

/// Gives the actor its constructor call and asks for its place. When the actor exists already
/// (`get_if_exists`), the handle is exchanged for one of that actor. Throws usage_error.
[[nodiscard]] actor_core* start_actor(actor_core* actor, task* creation);

// Handles.
void add_actor_handle(actor_core* actor) noexcept;
void drop_actor_handle(actor_core* actor) noexcept;
[[nodiscard]] actor_state& state_of(actor_core* actor) noexcept;
[[nodiscard]] actor_id id_of(actor_core* actor) noexcept;
[[nodiscard]] object_handle ready_of(actor_core* actor);
void kill_actor(actor_core* actor, bool restart);
[[nodiscard]] actor_core* find_actor_core(const std::string& name, const std::string& name_space);

/// Marks `call` as a call of `actor`, made by what this thread runs. Before `submit`. Throws
/// usage_error for an unknown concurrency group, backpressure_error.
void set_actor_call(task* call, actor_core* actor,
                    const std::shared_ptr<const call_options>& options);

[[noreturn]] void throw_empty_actor(const char* what);
[[noreturn]] void throw_other_type(actor_core* actor, const std::type_info& wanted);

}  // namespace ray::detail
