#include "experiments/training/safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "experiments/cli/errors.h"
#include "experiments/report/text.h"
#include "experiments/training/safetensors_header.h"

namespace experiments::training {
namespace {

static_assert(std::endian::native == std::endian::little);

const Encoding& encoding_of(autograd::DType dtype) {
  return *std::find_if(std::begin(kEncodings), std::end(kEncodings),
                       [dtype](const Encoding& encoding) { return encoding.dtype == dtype; });
}

SafetensorsHeader header_of(const Safetensors& content) {
  SafetensorsHeader header{.tensors = {}, .metadata = content.metadata};
  for (const auto& [name, tensor] : content.tensors)
    header.tensors.push_back(
        {.name = name, .encoding = &encoding_of(tensor.dtype()), .shape = tensor.shape()});
  std::stable_sort(header.tensors.begin(), header.tensors.end(),
                   [](const TensorEntry& a, const TensorEntry& b) {
                     return a.encoding->bytes > b.encoding->bytes;
                   });
  std::uint64_t end = 0;
  for (TensorEntry& entry : header.tensors) {
    entry.begin = end;
    end += static_cast<std::uint64_t>(entry.shape.numel()) * entry.encoding->bytes;
    entry.end = end;
  }
  return header;
}

std::span<const std::byte> bytes_of(const autograd::Array& array) {
  return autograd::dispatch_any(
      array.dtype(), [&](auto tag) { return std::as_bytes(array.read<decltype(tag)>()); });
}

}  // namespace

void write_safetensors(const std::string& path, const Safetensors& content,
                       const FileSystem& system) {
  const SafetensorsHeader header = header_of(content);
  std::string text;
  try {
    text = format_header(header);
  } catch (const cli::DataError& error) {
    throw cli::DataError(fmt::format("{}: {}", report::quote(path, 100), error.what()));
  }
  const std::uint64_t length = text.size();
  AtomicFile file(path, fmt::format("cannot write {}", report::quote(path, 100)), system);
  file.write(std::as_bytes(std::span(&length, 1)));
  file.write(text);
  for (const TensorEntry& entry : header.tensors)
    file.write(bytes_of(content.tensors.at(entry.name).data()));
  file.commit();
}

}  // namespace experiments::training
