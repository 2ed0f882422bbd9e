/// How much memory the process has, by the kernel's count. It stands in for the sizes of values
/// that only serializing would tell: while the process has not grown beyond the budget since the
/// store began, nobody needs to know them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "store/file_io.hpp"

namespace ray::detail::store {

/// Gives free heap back to the system, where the allocator knows how.
void trim_heap() noexcept;

/// Looks at the resident size now and then. A look costs about a microsecond, so it is taken once
/// in up to 256 insertions; more often when one insertion brings much or the limit is near.
class memory_sampler {
 public:
  explicit memory_sampler(std::size_t limit) noexcept;

  /// Counts an insertion. True when a look was due and the process has grown beyond the limit, or,
  /// after a pass that could not bring it below, by another eighth of the limit.
  [[nodiscard]] bool shows_shortage() noexcept;
  /// Bytes by which the process is larger than when the sampler was made; 0 where the system does
  /// not tell.
  [[nodiscard]] std::size_t growth() const noexcept;
  /// After a pass: what remains is not for spilling to change, so more must come before the next.
  void settle() noexcept;

 private:
  static constexpr std::int64_t longest_interval = 256;

  [[nodiscard]] std::size_t resident_size() const noexcept;

  const std::size_t limit_;
  file_descriptor statm_;
  std::size_t page_;
  std::size_t start_;
  std::atomic<std::size_t> threshold_;
  // One thread looks at a time: the one that counts `countdown_` down to zero; the others count on
  // below zero until it has set the next interval.
  std::atomic<std::int64_t> countdown_{1};
  std::int64_t interval_ = 1;
  std::size_t last_growth_ = 0;
};

}  // namespace ray::detail::store
