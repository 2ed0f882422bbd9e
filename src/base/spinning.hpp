/// Whether it is worth a moment's looping before a thread sleeps.
#pragma once

namespace ray::detail {

/// True when the process may run on more than one processor, by its affinity when first asked: on
/// one alone, what is waited for cannot happen while the waiter runs.
[[nodiscard]] bool spinning_helps() noexcept;

}  // namespace ray::detail
