/// Bytes made of a value.
#pragma once

#include <ray/detail/base/value_operations.hpp>

#include <cstddef>
#include <span>
#include <vector>

namespace ray::detail {

class image final : public byte_sink {
 public:
  void write(std::span<const std::byte> bytes) override {
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

}  // namespace ray::detail
