#include <ray/detail/base/archive.hpp>

#include <string>

#include <ray/detail/base/type_name.hpp>
#include <ray/error.hpp>

namespace ray::detail {

namespace {

constexpr const char* remedy = "; the bytes are damaged or cut off, or were saved as another type";

std::string bytes_text(std::uint64_t count) {
  return std::to_string(count) + (count == 1 ? " byte" : " bytes");
}

}  // namespace

void throw_truncated(std::size_t wanted, std::size_t left) {
  throw serialization_error("cannot load a value: " + bytes_text(wanted) + " are needed and " +
                            bytes_text(left) + " are left" + remedy);
}

void throw_bad_length(std::uint64_t count, std::size_t smallest, std::size_t left,
                      const std::type_info& container) {
  throw serialization_error("cannot load " + type_name(container) + ": its length is given as " +
                            std::to_string(count) + ", at " + bytes_text(smallest) +
                            " or more an element, and " + bytes_text(left) + " are left" + remedy);
}

void throw_left_over(std::size_t left, const std::type_info& type) {
  throw serialization_error("cannot load " + type_name(type) + ": " + bytes_text(left) +
                            " are left over after it" + remedy);
}

void throw_bad_value(const char* what, std::uint64_t value) {
  throw serialization_error("cannot load " + std::string(what) + ": " + std::to_string(value) +
                            " is no such value" + remedy);
}

void throw_unsavable(const char* why, const std::type_info& type) {
  throw serialization_error("cannot save " + type_name(type) + ": " + why);
}

void throw_from_cereal(const cereal::Exception& error, const std::type_info& type, bool saving) {
  throw serialization_error("cannot " + std::string(saving ? "save " : "load ") + type_name(type) +
                            ": cereal says: " + error.what());
}

namespace archives {

void output_archive::write_past_buffer(const void* data, std::size_t size) {
  flush();
  if (size < capacity) {
    std::memcpy(buffer_, data, size);
    used_ = size;
  } else {
    sink_.write({static_cast<const std::byte*>(data), size});
    flushed_ += size;
  }
}

void output_archive::flush() {
  if (used_ == 0) return;
  sink_.write({buffer_, used_});
  flushed_ += used_;
  used_ = 0;
}

output_archive::shared_number output_archive::number_of(std::shared_ptr<const void> object,
                                                        const std::type_info& type) {
  const shared_key key(object.get(), type);
  const auto number = static_cast<std::uint32_t>(shared_.size() + 1);
  const auto [entry, first] = shared_.try_emplace(key, shared_object{number, std::move(object)});
  return {entry->second.number, first};
}

void input_archive::read_from_source(void* data, std::size_t size) {
  if (source_ == nullptr) throw_truncated(size, left_);
  source_->read({static_cast<std::byte*>(data), size});
  position_ += size;
}

void input_archive::add_shared(std::uint32_t number, std::shared_ptr<const void> object,
                               const std::type_info& type) {
  if (!shared_.try_emplace(number, shared_object{type, std::move(object)}).second) {
    throw_bad_value("a shared object, whose number was given before", number);
  }
}

std::shared_ptr<const void> input_archive::find_shared(std::uint32_t number,
                                                       const std::type_info& type) const {
  const auto entry = shared_.find(number);
  // An object that holds a pointer to itself is not complete when the pointer is loaded.
  if (entry == shared_.end() || entry->second.type != std::type_index(type)) {
    throw_bad_value("the number of a shared object (one that holds itself cannot be loaded)",
                    number);
  }
  return entry->second.object;
}

}  // namespace archives

void vector_sink::write(std::span<const std::byte> bytes) {
  bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
}

void memory_source::read(std::span<std::byte> bytes) {
  if (bytes.size() > bytes_.size()) throw_truncated(bytes.size(), bytes_.size());
  if (bytes.empty()) return;
  std::memcpy(bytes.data(), bytes_.data(), bytes.size());
  bytes_ = bytes_.subspan(bytes.size());
}

}  // namespace ray::detail
