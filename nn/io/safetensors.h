#pragma once

#include <functional>
#include <map>
#include <string>

#include "nn/io/atomic_file.h"
#include "nn/module.h"

namespace nn {

struct SafetensorsHeader;  // of safetensors_header.h

/// What a safetensors file holds: tensors and texts, each under a name.
/// Layout: the length of the header (8 bytes, little-endian), the header (a JSON object, filled up
/// with blanks to a multiple of 8 bytes), and the data, row-major and little-endian, without gaps.
///   {"__metadata__": {"key": "text"}, "w": {"dtype": "F32", "shape": [2, 3],
///    "data_offsets": [0, 24]}}
struct Safetensors {
  State tensors;
  std::map<std::string, std::string> metadata;
};

/// Replaces `path` whole or not at all; see AtomicFile. F32, F64, I64 and BOOL, bit for bit; wide
/// elements first, so that each tensor is aligned. DataError for what no file can hold: a tensor
/// named "__metadata__" or a text that is not UTF-8. IoError.
void write_safetensors(const std::string& path, const Safetensors& content,
                       const FileSystem& system = system_calls());

/// Also reads F16 and BF16, as f32. Everything that the header claims is checked against the size
/// of the file and of memory before any data is read. Before that, `choose` is shown the header: it
/// may throw, and it may erase tensors that are not needed. Those are skipped, whatever their
/// dtype. DataError for a file that is damaged, not of this format or too large for memory, and for
/// what `choose` throws as one; IoError for a file that cannot be read. All name the path.
Safetensors read_safetensors(const std::string& path,
                             const std::function<void(SafetensorsHeader&)>& choose = {});

}  // namespace nn
