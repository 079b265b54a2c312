#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "nn/types.h"

// The header of a safetensors file, as text and parsed. For safetensors.cpp.

namespace nn {

inline constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;  // of the format's own reader

/// Bytes of an element, in memory what `dtype` says.
struct Encoding {
  std::string_view name;  // "BF16"
  DType dtype;
  std::uint64_t bytes;
};

inline constexpr Encoding kEncodings[] = {{"F32", DType::f32, 4}, {"F64", DType::f64, 8},
                                          {"I64", DType::i64, 8}, {"BOOL", DType::b8, 1},
                                          {"F16", DType::f32, 2}, {"BF16", DType::f32, 2}};

/// What one tensor of the file is called in messages: its name, made harmless and cut.
std::string label(std::string_view tensor);

struct TensorEntry {
  std::string name;
  std::string dtype;                   // as the header has it
  const Encoding* encoding = nullptr;  // of that name; none for a dtype that cannot be read here
  Shape shape;
  std::uint64_t begin = 0, end = 0;  // its bytes, counted from the first byte of data
};

/// DataError if its dtype cannot be read here.
const Encoding& encoding_of(const TensorEntry& entry);

struct SafetensorsHeader {
  std::vector<TensorEntry> tensors;  // in the order of their data
  std::map<std::string, std::string> metadata;
};

/// Checks `text` against all rules but one: that its data ends with the file. Unknown dtypes pass,
/// as their tensors may not be needed. The DataError does not name the path.
SafetensorsHeader parse_header(std::string_view text);

/// The reverse, padded with blanks. DataError if a name or a text is not UTF-8, or all of it is
/// too long.
std::string format_header(const SafetensorsHeader& header);

}  // namespace nn
