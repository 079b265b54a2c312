#pragma once

#include <cstdint>
#include <string>

namespace test {

/// The bytes of a safetensors file with this header, valid or not.
inline std::string safetensors_bytes(const std::string& header, const std::string& data = "") {
  std::string length;
  for (int i = 0; i < 8; ++i) length += static_cast<char>(std::uint64_t{header.size()} >> 8 * i);
  return length + header + data;
}

}  // namespace test
