#include "base/spinning.hpp"

#include <sched.h>

namespace ray::detail {

bool spinning_helps() noexcept {
  static const bool several = [] {
    cpu_set_t set;
    // It fails only where there are more processors than fit into the set.
    return ::sched_getaffinity(0, sizeof(set), &set) != 0 || CPU_COUNT(&set) > 1;
  }();
  return several;
}

}  // namespace ray::detail
