// First the two files of /proc are parsed, line by line; then each group is matched with the mounts
// that show its hierarchy, and its directory is walked upwards. A text that cannot be read is
// empty, and an empty text parses to no limit, so that nothing here has an error path of its own.
#include "system/cgroup.hpp"

#include "system/text_file.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <system_error>
#include <utility>

namespace ray::detail::system {

namespace {

constexpr std::string_view blanks = " \t\n";

/// Cuts off and returns what stands before the next `separator`, or everything.
std::string_view next_field(std::string_view& text, char separator) {
  const auto end = text.find(separator);
  const auto field = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return field;
}

/// The next word, empty at the end.
std::string_view next_word(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(blanks), text.size()));
  const auto word = text.substr(0, text.find_first_of(blanks));
  text.remove_prefix(word.size());
  return word;
}

std::vector<std::string> split_commas(std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const auto part = next_field(text, ',');
    if (!part.empty()) parts.emplace_back(part);
  }
  return parts;
}

bool contains(const std::vector<std::string>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

template <typename Number>
std::optional<Number> number_of(std::string_view word) {
  Number number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return number;
}

/// mountinfo writes blanks and backslashes in paths as `\` and three octal digits.
std::string unescaped(std::string_view text) {
  const auto is_octal = [](char digit) { return digit >= '0' && digit <= '7'; };
  std::string result;
  while (!text.empty()) {
    if (text.size() >= 4 && text[0] == '\\' && text[1] <= '3' && is_octal(text[1]) &&
        is_octal(text[2]) && is_octal(text[3])) {
      result += static_cast<char>((text[1] - '0') * 64 + (text[2] - '0') * 8 + (text[3] - '0'));
      text.remove_prefix(4);
    } else {
      result += text.front();
      text.remove_prefix(1);
    }
  }
  return result;
}

bool leads_out(const std::filesystem::path& path) {
  return std::find(path.begin(), path.end(), "..") != path.end();
}

/// The group as a path below the mount point; empty optional when the mount does not show it.
std::optional<std::filesystem::path> path_below(const cgroup_mount& mount,
                                                const cgroup_membership& member) {
  const std::filesystem::path root = mount.root;
  const std::filesystem::path group = member.path;
  // Seen from within a cgroup namespace, a group or a mount outside of it has ".." in its path.
  // What lies in between cannot be named; the mount point is the nearest that can be read.
  if (leads_out(root) || leads_out(group)) return std::filesystem::path();
  const auto below = group.lexically_relative(root);
  if (below.empty() || leads_out(below)) return std::nullopt;
  return below == "." ? std::filesystem::path() : below;
}

/// Visits the directory of each group, from the process's own up to the mount point.
template <typename Visit>
void for_each_group_upwards(const std::filesystem::path& mount_point, std::filesystem::path below,
                            Visit visit) {
  while (!below.empty()) {
    visit(mount_point / below);
    below = below.parent_path();
  }
  visit(mount_point);
}

template <typename Number>
void lower(std::optional<Number>& limit, std::optional<Number> other) {
  if (other && (!limit || *other < *limit)) limit = other;
}

std::string text_of(const std::filesystem::path& file) {
  std::error_code ignored;
  return read_text_file(file, ignored);
}

void apply_cpu_limit(cgroup_limits& limits, const std::filesystem::path& group, bool version_2) {
  lower(limits.cpus, version_2 ? parse_cpu_max(text_of(group / "cpu.max"))
                               : parse_cpu_quota(text_of(group / "cpu.cfs_quota_us"),
                                                 text_of(group / "cpu.cfs_period_us")));
}

void apply_memory_limit(cgroup_limits& limits, const std::filesystem::path& group, bool version_2) {
  lower(limits.memory_bytes,
        parse_memory_limit(text_of(group / (version_2 ? "memory.max" : "memory.limit_in_bytes"))));
}

void apply_hierarchy(cgroup_limits& limits, const std::filesystem::path& root,
                     const cgroup_mount& mount, const cgroup_membership& member) {
  const auto below = path_below(mount, member);
  if (!below) return;
  const bool has_cpu = mount.version_2 || contains(member.controllers, "cpu");
  const bool has_memory = mount.version_2 || contains(member.controllers, "memory");
  const auto mount_point = root / mount.mount_point.relative_path();
  for_each_group_upwards(mount_point, *below, [&](const std::filesystem::path& group) {
    if (has_cpu) apply_cpu_limit(limits, group, mount.version_2);
    if (has_memory) apply_memory_limit(limits, group, mount.version_2);
  });
}

/// Whether `mount` shows the hierarchy that `member` is a group of.
bool same_hierarchy(const cgroup_mount& mount, const cgroup_membership& member) {
  if (mount.version_2 || member.controllers.empty()) {
    return mount.version_2 && member.controllers.empty();
  }
  return std::all_of(member.controllers.begin(), member.controllers.end(),
                     [&](const auto& controller) { return contains(mount.options, controller); });
}

}  // namespace

std::vector<cgroup_membership> parse_cgroup_memberships(std::string_view text) {
  std::vector<cgroup_membership> result;
  while (!text.empty()) {
    auto line = next_field(text, '\n');
    const auto hierarchy = next_field(line, ':');
    const auto controllers = next_field(line, ':');
    // The rest is the path, which may contain colons.
    if (hierarchy.empty() || !line.starts_with('/')) continue;
    result.push_back({.controllers = split_commas(controllers), .path = std::string(line)});
  }
  return result;
}

std::vector<cgroup_mount> parse_cgroup_mounts(std::string_view text) {
  // 36 35 98:0 ROOT MOUNT_POINT OPTIONS [TAG[:VALUE]...] - TYPE SOURCE SUPER_OPTIONS
  std::vector<cgroup_mount> result;
  while (!text.empty()) {
    auto line = next_field(text, '\n');
    for (int skipped = 0; skipped < 3; ++skipped) next_word(line);
    const auto root = next_word(line);
    const auto mount_point = next_word(line);
    for (auto tag = next_word(line); !tag.empty() && tag != "-";) tag = next_word(line);
    const auto type = next_word(line);
    if (type != "cgroup" && type != "cgroup2") continue;
    next_word(line);
    result.push_back({.version_2 = type == "cgroup2",
                      .options = split_commas(next_word(line)),
                      .root = unescaped(root),
                      .mount_point = unescaped(mount_point)});
  }
  return result;
}

std::optional<double> parse_cpu_quota(std::string_view quota, std::string_view period) {
  const auto used = number_of<std::int64_t>(next_word(quota));
  const auto of = number_of<std::int64_t>(next_word(period));
  if (!used || !of || *used <= 0 || *of <= 0) return std::nullopt;
  return static_cast<double>(*used) / static_cast<double>(*of);
}

std::optional<double> parse_cpu_max(std::string_view text) {
  const auto quota = next_word(text);
  return parse_cpu_quota(quota, text);
}

std::optional<std::size_t> parse_memory_limit(std::string_view text) {
  const auto bytes = number_of<std::size_t>(next_word(text));
  // A group with no memory at all could not run this.
  return bytes && *bytes > 0 ? bytes : std::nullopt;
}

cgroup_limits read_cgroup_limits(const std::filesystem::path& root) {
  cgroup_limits limits;
  const auto mounts = parse_cgroup_mounts(text_of(root / "proc/self/mountinfo"));
  for (const auto& member : parse_cgroup_memberships(text_of(root / "proc/self/cgroup"))) {
    for (const auto& mount : mounts) {
      if (same_hierarchy(mount, member)) apply_hierarchy(limits, root, mount, member);
    }
  }
  return limits;
}

}  // namespace ray::detail::system
