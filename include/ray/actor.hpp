/// `ray::actor<T>`: a handle of an object of any class that lives somewhere in the cluster and
/// whose methods are called one at a time.
#pragma once

#include <ray/detail/api/submission.hpp>
#include <ray/detail/base/archive.hpp>
#include <ray/detail/runtime/actor_state.hpp>
#include <ray/detail/runtime/arguments.hpp>
#include <ray/detail/runtime/exported.hpp>
#include <ray/detail/runtime/task.hpp>
#include <ray/future.hpp>
#include <ray/fwd.hpp>
#include <ray/id.hpp>
#include <ray/options.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

namespace ray {

namespace detail {

struct actor_access;

/// The state of an actor of class `Class`.
template <typename Class>
class actor_state_of final : public actor_state {
 public:
  ~actor_state_of() override { destroy(); }

  [[nodiscard]] const std::type_info& type() const noexcept override { return typeid(Class); }
  [[nodiscard]] void* get() noexcept override { return alive_ ? &content_.value : nullptr; }
  void destroy() noexcept override {
    if (std::exchange(alive_, false)) std::destroy_at(&content_.value);
  }
  [[nodiscard]] bool can_checkpoint() const noexcept override { return serializable<Class>; }
  void save(byte_sink& sink) override {
    if constexpr (serializable<Class>) value_operations_of<Class>().save(&content_.value, sink);
  }
  void load(byte_source& source) override {
    if constexpr (serializable<Class>) {
      value_operations_of<Class>().load(&content_.value, source);
      alive_ = true;
    }
  }

  template <typename... Arguments>
  void construct(Arguments&&... arguments) {
    if constexpr (std::is_constructible_v<Class, Arguments...>) {
      new (&content_.value) Class(std::forward<Arguments>(arguments)...);
    } else {
      new (&content_.value) Class{std::forward<Arguments>(arguments)...};
    }
    alive_ = true;
  }

 private:
  storage<Class> content_;
  bool alive_ = false;
};

/// Stands for the constructor of a class where a function is wanted.
template <typename Class>
struct constructor_of {
  template <typename... Arguments>
    requires(std::is_constructible_v<Class, Arguments...> ||
             requires(Arguments&&... arguments) { Class{std::forward<Arguments>(arguments)...}; })
  void operator()(actor_state_of<Class>& state, Arguments&&... arguments) const {
    state.construct(std::forward<Arguments>(arguments)...);
  }
};

/// The body of an actor's first call, which constructs its state.
template <typename Class, typename Slots>
class creation_body : public bound_call<constructor_of<Class>, Slots> {
 public:
  template <typename... Arguments>
  explicit creation_body(actor_state_of<Class>& state, Arguments&&... arguments)
      : bound_call<constructor_of<Class>, Slots>(std::in_place, constructor_of<Class>(),
                                                 std::forward<Arguments>(arguments)...),
        state_(&state) {}
  void operator()() { this->call(*state_); }
  void copy_into(void* memory) const {
    bound_call<constructor_of<Class>, Slots>::copy_into(memory);
    static_cast<creation_body*>(memory)->state_ = state_;
  }
  [[nodiscard]] std::string name() const { return type_name<Class>(); }

 private:
  actor_state_of<Class>* state_;
};

/// The body of a call: a function on the actor's state. The state is that of the task's actor.
template <typename Class, typename Function, typename Slots>
class method_body : public bound_call<Function, Slots> {
 public:
  template <typename Callable, typename... Arguments>
  explicit method_body(actor_state& state, Callable&& function, Arguments&&... arguments)
      : bound_call<Function, Slots>(std::in_place, std::forward<Callable>(function),
                                    std::forward<Arguments>(arguments)...),
        state_(&state) {}
  decltype(auto) operator()() { return this->call(*static_cast<Class*>(state_->get())); }
  void copy_into(void* memory) const {
    bound_call<Function, Slots>::copy_into(memory);
    static_cast<method_body*>(memory)->state_ = state_;
  }
  [[nodiscard]] std::string name() const { return function_name(this->function()); }

 private:
  actor_state* state_;
};

/// The parameters of a method or callable after the state.
template <typename Function>
struct method_parameters {
  using type = typename drop_parameters<parameters<Function>, 1>::type;
};

}  // namespace detail

/// A handle of an actor. Copyable, serializable, comparable; it keeps the actor alive. Empty by
/// default: calling an empty one throws usage_error. All members may be called from any thread.
template <typename Class>
class actor {
 public:
  actor() noexcept = default;
  actor(const actor& other) noexcept : core_(other.core_) {
    if (core_ != nullptr) detail::add_actor_handle(core_);
  }
  actor(actor&& other) noexcept : core_(std::exchange(other.core_, nullptr)) {}
  actor& operator=(actor other) noexcept {
    std::swap(core_, other.core_);
    return *this;
  }
  ~actor() {
    if (core_ != nullptr) detail::drop_actor_handle(core_);
  }

  /// Calls a method (of the class or a base), or any callable that travels, as `f(state, args...)`.
  /// Calls of one caller begin in the order made, one at a time unless `max_concurrency` allows
  /// more. Never blocks. Errors end in the future; throws usage_error for an empty handle or an
  /// unknown concurrency group, backpressure_error.
  template <typename Function, typename... Arguments>
  auto call(Function&& function, Arguments&&... arguments) const {
    return call_with(nullptr, std::forward<Function>(function),
                     std::forward<Arguments>(arguments)...);
  }

  /// The same actor, called with options.
  class with_options {
   public:
    template <typename Function, typename... Arguments>
    auto call(Function&& function, Arguments&&... arguments) const {
      return target_.call_with(options_, std::forward<Function>(function),
                               std::forward<Arguments>(arguments)...);
    }

   private:
    friend class actor;
    with_options(actor target, call_options options)
        : target_(std::move(target)),
          options_(std::make_shared<const call_options>(std::move(options))) {}
    actor target_;
    std::shared_ptr<const call_options> options_;
  };
  [[nodiscard]] with_options with(call_options options) const {
    return with_options(*this, std::move(options));
  }

  [[nodiscard]] actor_id id() const { return detail::id_of(require("id")); }
  [[nodiscard]] bool valid() const noexcept { return core_ != nullptr; }

  /// Ends the actor: unanswered calls get actor_died_error. With `.restart` it comes back, if
  /// `max_restarts` allows.
  void kill(kill_options options = kill_options()) const {
    detail::kill_actor(require("kill"), options.restart);
  }

  /// Ends when the constructor has returned, or with the reason why the actor could not be made.
  [[nodiscard]] future<void> ready() const {
    return detail::future_access::make<void>(detail::ready_of(require("ready")));
  }

  friend bool operator==(const actor& left, const actor& right) noexcept {
    return left.core_ == right.core_;
  }

  template <typename Archive>
  void save(Archive& archive) const {
    archive(detail::export_handle(core_, std::make_shared<actor>(*this)));
  }
  template <typename Archive>
  void load(Archive& archive) {
    detail::exported_handle one;
    archive(one);
    const auto kept = detail::import_handle(one);
    *this = kept == nullptr ? actor() : *static_cast<const actor*>(kept.get());
  }

 private:
  friend struct detail::actor_access;

  explicit actor(detail::actor_core* counted) noexcept : core_(counted) {}

  [[nodiscard]] detail::actor_core* require(const char* what) const {
    if (core_ == nullptr) detail::throw_empty_actor(what);
    return core_;
  }

  template <typename Function, typename... Arguments>
  auto call_with(const std::shared_ptr<const call_options>& options, Function&& function,
                 Arguments&&... arguments) const {
    using kept = std::decay_t<Function>;
    detail::require_callable_travels<kept>();
    using plan = typename detail::plan_slots<kept, std::tuple<Class&>,
                                             typename detail::method_parameters<kept>::type,
                                             Arguments...>::plan;
    plan::check();
    using body = detail::method_body<Class, kept, typename plan::type>;
    detail::actor_core* target = require("call");
    const auto prepare = [&](detail::task* one) { detail::set_actor_call(one, target, options); };
    return detail::submit_body<body>(prepare, detail::state_of(target),
                                     std::forward<Function>(function),
                                     std::forward<Arguments>(arguments)...);
  }

  detail::actor_core* core_ = nullptr;
};

namespace detail {

/// The library's way into a handle.
struct actor_access {
  template <typename Class>
  [[nodiscard]] static actor_core* get(const actor<Class>& one) noexcept {
    return one.core_;
  }
  template <typename Class>
  [[nodiscard]] static actor<Class> make(actor_core* counted) noexcept {
    return actor<Class>(counted);
  }
};

template <typename Class, typename... Arguments>
actor<Class> create_actor(actor_options options, Arguments&&... arguments) {
  using constructor = constructor_of<Class>;
  using plan = typename plan_slots<constructor, std::tuple<actor_state_of<Class>&>, void,
                                   Arguments...>::plan;
  static_assert(
      std::is_invocable_v<constructor, actor_state_of<Class>&, kept_argument<Arguments>...> ||
          takes_values<constructor&, std::tuple<actor_state_of<Class>&>, Arguments...>,
      "ray: the actor's class cannot be constructed from these arguments");
  plan::check();
  using block = task_of<creation_body<Class, typename plan::type>>;
  auto state = std::make_unique<actor_state_of<Class>>();
  auto& content = *state;
  actor<Class> made = actor_access::make<Class>(new_actor(std::move(options), std::move(state)));
  auto* creation = make_block<block>(content, std::forward<Arguments>(arguments)...);
  const object_handle handle(creation);
  unsubmitted guard(creation);
  actor_core* found = start_actor(actor_access::get(made), creation);
  if (found != actor_access::get(made)) {
    made = actor_access::make<Class>(found);
    if (state_of(found).type() != typeid(Class)) throw_other_type(found, typeid(Class));
    return made;
  }
  creation->body().await_arguments(creation);
  guard.submit();
  return made;
}

}  // namespace detail

/// Creates an actor as `Class(args...)`, or `Class{args...}` for an aggregate; arguments as for
/// tasks. Never blocks: what goes wrong shows in `ready()` and in every call.
template <typename Class, typename... Arguments>
[[nodiscard]] actor<Class> make_actor(Arguments&&... arguments) {
  return detail::create_actor<Class>(actor_options(), std::forward<Arguments>(arguments)...);
}
template <typename Class, typename... Arguments>
[[nodiscard]] actor<Class> make_actor(actor_options options, Arguments&&... arguments) {
  return detail::create_actor<Class>(std::move(options), std::forward<Arguments>(arguments)...);
}

/// The actor with that name, if there is one; the name space "" is the session's. Throws
/// usage_error when that actor is of another type.
template <typename Class>
[[nodiscard]] std::optional<actor<Class>> find_actor(const std::string& name,
                                                     const std::string& name_space = "") {
  detail::actor_core* found = detail::find_actor_core(name, name_space);
  if (found == nullptr) return std::nullopt;
  auto handle = detail::actor_access::make<Class>(found);
  if (detail::state_of(found).type() != typeid(Class)) {
    detail::throw_other_type(found, typeid(Class));
  }
  return handle;
}

/// Inside a method: returns, and ends the actor after this call; later calls get actor_died_error.
/// Throws usage_error elsewhere.
void exit_actor();

}  // namespace ray

template <typename Class>
struct std::hash<ray::actor<Class>> {
  std::size_t operator()(const ray::actor<Class>& one) const noexcept {
    return std::hash<ray::detail::actor_core*>()(ray::detail::actor_access::get(one));
  }
};
