/// The texts of the runtime's errors, one function a kind, so that all read alike: what happened,
/// to what (name and id), why, what to do.
#pragma once

#include <ray/duration.hpp>
#include <ray/id.hpp>

#include <cstddef>
#include <exception>
#include <string>

namespace ray::detail {

class object;
class task;

/// "task 'price' (id)", "object (id)".
[[nodiscard]] std::string describe(object* one);
/// "task 'price'": all calls of that name.
[[nodiscard]] std::string describe_kind(task* one);
[[nodiscard]] std::string describe_actor(const std::string& name, const std::string& type,
                                         const actor_id& id);
/// "1.5 s", "20 ms".
[[nodiscard]] std::string in_words(duration time);

[[noreturn]] void throw_no_session();
[[nodiscard]] std::string session_over_text();
[[nodiscard]] std::string session_over_message(object* one);
[[nodiscard]] std::string cancelled_message(object* one);
[[nodiscard]] std::string parent_cancelled_message(object* one);
[[nodiscard]] std::string call_repeats_message(object* one);
[[nodiscard]] std::string timeout_message(object* one, duration limit);
[[nodiscard]] std::string group_removed_text(const std::string& reason);
[[nodiscard]] std::string infeasible_text(const std::string& what, bool is_error);
[[noreturn]] void throw_too_many_returns(std::size_t wanted, std::size_t given);

[[nodiscard]] std::string actor_died_message(const std::string& actor, const std::string& reason);
[[nodiscard]] std::string unknown_group_message(const std::string& actor, const std::string& group);
[[nodiscard]] std::string backpressure_message(const std::string& actor, std::size_t limit);
[[nodiscard]] std::string own_call_message(const std::string& actor);
[[nodiscard]] std::string constructor_threw(const std::exception_ptr& error);
[[nodiscard]] std::string checkpoint_failed_message(const std::string& actor,
                                                    const std::string& reason);

/// `what()` of an exception, or that its type is unknown.
[[nodiscard]] std::string text_of(const std::exception_ptr& error);

}  // namespace ray::detail
