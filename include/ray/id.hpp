/// Identifiers of objects, tasks, actors, nodes and jobs: 128 bits, regular, hashable, printable.
///
/// The high half is drawn at random once a process, the low half counts, so ids are unique in a
/// cluster without asking anyone, and making one costs an addition.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string>

namespace ray {

namespace detail {

/// One kind of identifier; `Tag` only tells the kinds apart. The default is the empty id.
template <typename Tag>
struct basic_id {
  std::uint64_t high = 0;
  std::uint64_t low = 0;

  friend constexpr auto operator<=>(const basic_id&, const basic_id&) noexcept = default;

  template <typename Archive>
  void serialize(Archive& archive) {
    archive(high, low);
  }
};

/// 32 hexadecimal digits.
[[nodiscard]] std::string to_hex(std::uint64_t high, std::uint64_t low);
void write_hex(std::ostream& out, std::uint64_t high, std::uint64_t low);

/// The high half of every id made in this process.
[[nodiscard]] std::uint64_t process_id_prefix();

}  // namespace detail

using object_id = detail::basic_id<struct object_tag>;
using task_id = detail::basic_id<struct task_tag>;
using actor_id = detail::basic_id<struct actor_tag>;
using node_id = detail::basic_id<struct node_tag>;
using job_id = detail::basic_id<struct job_tag>;

template <typename Tag>
[[nodiscard]] std::string to_string(const detail::basic_id<Tag>& id) {
  return detail::to_hex(id.high, id.low);
}

template <typename Tag>
std::ostream& operator<<(std::ostream& out, const detail::basic_id<Tag>& id) {
  detail::write_hex(out, id.high, id.low);
  return out;
}

}  // namespace ray

template <typename Tag>
struct std::hash<ray::detail::basic_id<Tag>> {
  std::size_t operator()(const ray::detail::basic_id<Tag>& id) const noexcept {
    // The low half counts; the multiplication spreads it over the buckets.
    return static_cast<std::size_t>(id.high ^ (id.low * 0x9e3779b97f4a7c15U));
  }
};
