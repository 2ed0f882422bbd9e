/// Bytes made of a value, with the handles that they refer to.
#pragma once

#include <ray/detail/base/value_operations.hpp>

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace ray::detail {

class image final : public byte_sink {
 public:
  image() = default;
  image(image&& other) noexcept
      : bytes_(std::move(other.bytes_)), held_(std::exchange(other.held_, {})) {}
  image& operator=(image&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    std::swap(held_, other.held_);
    return *this;
  }
  ~image() {
    for (const auto& handle : held_) handle.release(handle.object);
  }

  void write(std::span<const std::byte> bytes) override {
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }
  void hold(held_handle handle) override { held_.push_back(handle); }

  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
  std::vector<held_handle> held_;
};

}  // namespace ray::detail
