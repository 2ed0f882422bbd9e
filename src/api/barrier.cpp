#include <ray/barrier.hpp>

#include <ray/error.hpp>

namespace ray {

barrier::barrier(std::size_t count) : state_(std::make_shared<state>()) {
  detail::require_session();
  if (count == 0) throw usage_error("ray::barrier: a barrier of 0 would never open; give a count");
  state_->count = count;
}

void barrier::arrive_and_wait() const {
  if (state_ == nullptr) detail::throw_empty_handle("barrier");
  detail::require_session();
  state& own = *state_;
  std::size_t round = 0;
  const bool last = own.meeting.change([&] {
    round = own.round;
    if (++own.arrived < own.count) return false;
    own.arrived = 0;
    ++own.round;
    return true;
  });
  if (last) return;
  try {
    own.meeting.wait(forever, "the others at a barrier", [&] { return own.round != round; });
  } catch (...) {
    // This one does not wait any more: the others need another in its place.
    own.meeting.change([&] {
      if (own.round == round) --own.arrived;
      return false;
    });
    throw;
  }
}

}  // namespace ray
