#include "store/spill_files.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <utility>

namespace ray::detail::store {

namespace {

/// In place and on the stack: names are also made where nothing may be thrown.
struct file_name {
  explicit file_name(std::uint64_t number) noexcept {
    std::snprintf(text.data(), text.size(), "%llu", static_cast<unsigned long long>(number));
  }
  std::array<char, 24> text{};
};

}  // namespace

spill_files::spill_files(const std::filesystem::path& parent) : directory_(parent) {}

spill_files::~spill_files() = default;

spill_files::opened spill_files::begin_file() {
  directory_.create();
  auto made = std::make_unique<spill_file>();
  {
    const std::lock_guard lock(mutex_);
    made->number = ++last_number_;
  }
  file_descriptor descriptor = open_at(directory_.descriptor(), file_name(made->number).text.data(),
                                       O_WRONLY | O_CREAT | O_EXCL, 0600);
  if (!descriptor.valid()) throw spill_failure("make the spill file", path_of(*made), errno);
  spill_file* const file = made.get();
  const std::lock_guard lock(mutex_);
  files_.emplace(file, std::move(made));
  return {file, std::move(descriptor)};
}

void spill_files::seal(spill_file& file) noexcept {
  std::uint64_t number = 0;
  {
    const std::lock_guard lock(mutex_);
    file.sealed = true;
    if (file.live != 0) return;
    number = file.number;
    forget(file);
  }
  remove(number);
}

void spill_files::add(const record& added) {
  const std::uint64_t end = added.offset + added.extent();
  const std::lock_guard lock(mutex_);
  spill_file& file = *added.file;
  file.blocks.resize((end + block_size - 1) / block_size);
  for (std::uint64_t at = added.offset; at < end;) {
    const std::uint64_t next = std::min(end, (at / block_size + 1) * block_size);
    file.blocks[at / block_size] += static_cast<std::uint32_t>(next - at);
    at = next;
  }
  file.live += added.extent();
  file.written = end;
  live_bytes_.fetch_add(added.extent(), std::memory_order_relaxed);
}

void spill_files::discard(const record& dead) noexcept {
  std::uint64_t number = 0;
  dead_range range{};
  bool gone = false;
  {
    const std::lock_guard lock(mutex_);
    spill_file& file = *dead.file;
    number = file.number;
    range = subtract(file, dead);
    gone = file.sealed && file.live == 0;
    if (gone) forget(file);
  }
  // From here the file may already be gone: its number is all that is used, and is never used
  // again.
  if (gone) {
    remove(number);
  } else if (range.begin < range.end) {
    punch(number, range);
  }
}

spill_files::dead_range spill_files::subtract(spill_file& file, const record& dead) noexcept {
  const std::uint64_t end = dead.offset + dead.extent();
  dead_range range{end, dead.offset};
  for (std::uint64_t at = dead.offset; at < end;) {
    const std::uint64_t block = at / block_size;
    const std::uint64_t block_end = (block + 1) * block_size;
    const std::uint64_t next = std::min(end, block_end);
    file.blocks[block] -= static_cast<std::uint32_t>(next - at);
    // Blocks inside a record empty together, so all that empty now are neighbours, unless a block
    // at either edge keeps a neighbour's bytes.
    if (file.blocks[block] == 0 && block_end <= file.written) {
      range.begin = std::min(range.begin, block * block_size);
      range.end = std::max(range.end, block_end);
    }
    at = next;
  }
  file.live -= dead.extent();
  live_bytes_.fetch_sub(dead.extent(), std::memory_order_relaxed);
  return range;
}

std::shared_ptr<const file_descriptor> spill_files::open_for_reading(const record& wanted) {
  spill_file& file = *wanted.file;
  {
    const std::lock_guard lock(mutex_);
    if (file.reading != nullptr) return file.reading;
  }
  auto opened = std::make_shared<const file_descriptor>(
      open_at(directory_.descriptor(), file_name(file.number).text.data(), O_RDONLY));
  if (!opened->valid()) throw spill_failure("open", path_of(file), errno);
  std::shared_ptr<const file_descriptor> former;  // closed without the lock
  const std::lock_guard lock(mutex_);
  if (file.reading == nullptr) {
    spill_file*& place = recent_[oldest_];
    if (place != nullptr) former = std::move(place->reading);
    place = &file;
    file.reading = opened;
    oldest_ = (oldest_ + 1) % kept_open;
  }
  return opened;
}

void spill_files::forget(spill_file& file) noexcept {
  if (file.reading != nullptr) *std::find(recent_.begin(), recent_.end(), &file) = nullptr;
  files_.erase(&file);
}

void spill_files::remove_all() noexcept {
  {
    // An open file keeps its space after its name is gone.
    const std::lock_guard lock(mutex_);
    for (spill_file*& file : recent_) {
      if (file != nullptr) std::exchange(file, nullptr)->reading.reset();
    }
  }
  directory_.remove();
}

std::string spill_files::path_of(const spill_file& file) const {
  return directory_.path_of(file_name(file.number).text.data());
}

std::size_t spill_files::count() const {
  const std::lock_guard lock(mutex_);
  return files_.size();
}

void spill_files::remove(std::uint64_t number) const noexcept {
  // What fails here costs disk space until the directory goes, and nothing else.
  ::unlinkat(directory_.descriptor(), file_name(number).text.data(), 0);
}

void spill_files::punch(std::uint64_t number, dead_range range) const noexcept {
  const file_descriptor file =
      open_at(directory_.descriptor(), file_name(number).text.data(), O_WRONLY);
  if (!file.valid()) return;
  // A file system without holes says so, and keeps the space until the file goes.
  ::fallocate(file.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
              static_cast<off_t>(range.begin), static_cast<off_t>(range.end - range.begin));
}

}  // namespace ray::detail::store
