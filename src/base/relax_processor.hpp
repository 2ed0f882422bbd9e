/// Tells the processor that this is a loop which waits for another core.
#pragma once

namespace ray::detail {

inline void relax_processor() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace ray::detail
