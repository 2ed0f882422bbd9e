/// From a body to the future, or the stream, of its call: builds the block, has `prepare` attach
/// what the call needs (options, its actor), and submits it.
#pragma once

#include <ray/detail/runtime/task.hpp>
#include <ray/stream.hpp>
#include <ray/task.hpp>

#include <memory>
#include <type_traits>
#include <utility>

namespace ray::detail {

/// A body without anything to prepare.
struct nothing_to_prepare {};

template <typename Block, typename Prepare, typename... Arguments>
[[nodiscard]] object_handle submit_block(const Prepare& prepare, Arguments&&... arguments) {
  require_session();
  auto* one = make_block<Block>(std::forward<Arguments>(arguments)...);
  object_handle handle(one);
  if constexpr (std::is_same_v<Prepare, nothing_to_prepare>) {
    one->body().await_arguments(one);
    submit(one);
  } else {
    unsubmitted guard(one);
    prepare(one);
    one->body().await_arguments(one);
    guard.submit();
  }
  return handle;
}

template <typename Body, typename Prepare, typename... Arguments>
[[nodiscard]] auto submit_body(const Prepare& prepare, Arguments&&... arguments) {
  using returned = std::decay_t<decltype(std::declval<Body&>()())>;
  using value = typename returned_traits<
      std::conditional_t<std::is_void_v<returned>, void, returned>>::value_type;
  require_serializable_result<value>();
  if constexpr (is_generator<returned>) {
    auto state = std::make_shared<stream_state<value>>();
    const auto prepare_stream = [&](task* one) {
      if constexpr (!std::is_same_v<Prepare, nothing_to_prepare>) prepare(one);
      state->set_capacity(stream_buffer_of(one));
    };
    state->connect(submit_block<task_of<stream_body<Body, value>>>(
        prepare_stream, state, std::forward<Arguments>(arguments)...));
    return stream_access::make<value>(std::move(state));
  } else {
    return future_access::make<value>(
        submit_block<task_of<Body>>(prepare, std::forward<Arguments>(arguments)...));
  }
}

}  // namespace ray::detail
