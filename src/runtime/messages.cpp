#include "runtime/messages.hpp"

#include "runtime/actor_core.hpp"
#include "runtime/core.hpp"
#include "runtime/object_hooks.hpp"
#include "runtime/task_extra.hpp"

#include <ray/detail/runtime/completion.hpp>
#include <ray/detail/runtime/task.hpp>
#include <ray/error.hpp>
#include <ray/log.hpp>

#include <cstdio>

namespace ray::detail {

std::string describe_kind(task* one) {
  const task_extra* extra = one->extra();
  const bool named =
      extra != nullptr && extra->settings != nullptr && !extra->settings->options.name.empty();
  return "task '" + (named ? extra->settings->options.name : one->operations().name(one)) + "'";
}

std::string describe(object* one) {
  const std::string id = to_hex(process_id_prefix(), one->id());
  if (one->operations().run == nullptr) return "object (" + id + ")";
  const task_extra* extra = static_cast<task*>(one)->extra();
  if (extra != nullptr && extra->creates_actor) {
    return "the constructor of " + extra->actor->describe();
  }
  std::string text = describe_kind(static_cast<task*>(one)) + " (" + id + ")";
  if (extra != nullptr && extra->actor != nullptr) text += " of " + extra->actor->describe();
  return text;
}

std::string describe_actor(const std::string& name, const std::string& type, const actor_id& id) {
  return "actor '" + (name.empty() ? type : name) + "' (" + to_string(id) + ")";
}

std::string in_words(duration time) {
  char text[32];
  const double seconds = static_cast<double>(time.count()) / 1e9;
  if (seconds >= 1) {
    std::snprintf(text, sizeof text, "%.3g s", seconds);
  } else if (seconds >= 1e-3) {
    std::snprintf(text, sizeof text, "%.3g ms", seconds * 1e3);
  } else {
    std::snprintf(text, sizeof text, "%.3g us", seconds * 1e6);
  }
  return text;
}

std::string text_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& one) {
    return one.what();
  } catch (...) {
    return "an exception that is no std::exception";
  }
}

void throw_no_session() {
  throw usage_error(
      "ray: no session runs, so nothing can be called: keep the result of ray::init in a variable "
      "of main, and make the call while it lives");
}

std::string session_over_text() {
  return "the session has ended; ray::shutdown, or the end of the session object, drops what waits";
}

std::string session_over_message(object* one) {
  return "ray: " + describe(one) + " was dropped: " + session_over_text() +
         "; get what is needed before that";
}

std::string cancelled_message(object* one) { return "ray: " + describe(one) + " was cancelled"; }

std::string parent_cancelled_message(object* one) {
  return "ray: " + describe(one) +
         " was cancelled, because a task that started it was; cancel that with .recursive = false "
         "to let its children go on";
}

std::string timeout_message(object* one, duration limit) {
  return "ray: " + describe(one) + " took longer than its timeout of " + in_words(limit) +
         "; raise task_options::timeout, or have it look at ray::this_task::stop_token()";
}

std::string group_removed_text(const std::string& reason) {
  return "ray: the placement group that this needs is gone (" + reason +
         "); make another one, or wait for what uses a group before removing it";
}

std::string infeasible_text(const std::string& what, bool is_error) {
  return "ray: " + what +
         (is_error ? "; ask for less, or give the session more (ray::config)"
                   : "; it waits until that changes: ask for less, give the session more "
                     "(ray::config), or set RAY_INFEASIBLE=error to make this an error");
}

void throw_too_many_returns(std::size_t wanted, std::size_t given) {
  throw usage_error("ray::wait: num_returns is " + std::to_string(wanted) +
                    ", but there are only " + std::to_string(given) +
                    " futures; ask for that many at most");
}

void throw_empty_future(const char* what) {
  throw usage_error(std::string("ray: an empty future was used (") + what +
                    "): it was default-constructed or moved from; only futures that a call or "
                    "ray::put has returned stand for an object");
}

void throw_get_timeout(object* one, duration timeout) {
  throw timeout_error("ray::get: " + describe(one) + " was not ready within " + in_words(timeout) +
                      "; it goes on, and the future can be asked again");
}

std::string call_repeats_message(object* one) {
  return "ray: the actor of " + describe(one) +
         " restarts; this attempt ends here, and its next incarnation makes another one";
}

std::string actor_died_message(const std::string& actor, const std::string& reason) {
  return "ray: " + actor + " is dead: " + reason + "; make another one";
}

std::string unknown_group_message(const std::string& actor, const std::string& group) {
  return "ray: " + actor + " has no concurrency group '" + group +
         "'; name it in actor_options::concurrency_groups when the actor is made";
}

std::string backpressure_message(const std::string& actor, std::size_t limit) {
  return "ray: " + actor + " already has " + std::to_string(limit) +
         " calls that have not begun (max_pending_calls); wait for some of them, or raise the "
         "limit";
}

std::string own_call_message(const std::string& actor) {
  return "ray: a method of " + actor +
         " waits for a call of its own actor that can never begin, since all its places are taken "
         "by methods that wait; return the future, call the function directly, or raise "
         ".max_concurrency";
}

std::string constructor_threw(const std::exception_ptr& error) {
  return "its constructor threw: " + text_of(error);
}

std::string checkpoint_failed_message(const std::string& actor, const std::string& reason) {
  return "ray: a checkpoint of " + actor + " could not be made: " + reason +
         "; the one before it stays";
}

void throw_empty_actor(const char* what) {
  throw usage_error(std::string("ray: an empty actor handle was used (") + what +
                    "): make one with ray::make_actor or find one with ray::find_actor");
}

void throw_other_type(actor_core* actor, const std::type_info& wanted) {
  throw usage_error("ray: " + actor->describe() + " is of type " +
                    type_name(actor->state().type()) + ", not " + type_name(wanted) +
                    "; name the type it was made with");
}

void report_unobserved(object& one) noexcept {
  try {
    if (core::get().stopping()) return;
    log(log_level::warning, "ray: nobody asked for the result of " + describe(&one) +
                                ", which failed: " + text_of(one.error()));
  } catch (...) {
    // No memory for a message: it is only a message.
  }
}

}  // namespace ray::detail
