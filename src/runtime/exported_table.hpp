/// The end of the table of exported handles.
#pragma once

namespace ray::detail {

/// The session ends: lets go of all that was exported.
void clear_exported() noexcept;

}  // namespace ray::detail
