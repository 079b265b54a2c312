#include "nn/io/safetensors.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <utility>

#include "nn/io/errors.h"
#include "nn/io/memory_limit.h"
#include "nn/io/safetensors_header.h"
#include "nn/io/text.h"

namespace nn {
namespace {

using autograd::Array;

static_assert(std::endian::native == std::endian::little);

// --- writing

const Encoding& encoding_of(DType dtype) {
  return *std::find_if(std::begin(kEncodings), std::end(kEncodings),
                       [dtype](const Encoding& encoding) { return encoding.dtype == dtype; });
}

SafetensorsHeader header_of(const Safetensors& content) {
  SafetensorsHeader header{.tensors = {}, .metadata = content.metadata};
  for (const auto& [name, tensor] : content.tensors) {
    if (tensor.dtype() == DType::dual) {
      autograd::fail<autograd::DTypeError>(
          "safetensors: {} is dual, which the format does not have; value_of and tangent_of give "
          "its parts",
          label(name));
    }
    header.tensors.push_back({.name = name,
                              .dtype = {},
                              .encoding = &encoding_of(tensor.dtype()),
                              .shape = tensor.shape()});
  }
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

std::span<const std::byte> bytes_of(const Array& array) {
  return autograd::dispatch_any(
      array.dtype(), [&](auto tag) { return std::as_bytes(array.read<decltype(tag)>()); });
}

// --- reading

/// A regular file.
class InputFile {
 public:
  explicit InputFile(const std::string& path)
      : shown_(quote(path)), fd_(open(path.c_str(), O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC)) {
    struct stat at {};
    if (fd_ < 0) fail(std::strerror(errno));
    const int error = fstat(fd_, &at) != 0 ? errno : S_ISDIR(at.st_mode) ? EISDIR : 0;
    if (error != 0 || !S_ISREG(at.st_mode)) {
      close(fd_);
      fail(error != 0 ? std::strerror(error) : "not a regular file");
    }
    size_ = static_cast<std::uint64_t>(at.st_size);
  }
  ~InputFile() { close(fd_); }
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  std::uint64_t size() const { return size_; }

  void seek(std::uint64_t offset) {
    if (lseek(fd_, static_cast<off_t>(offset), SEEK_SET) < 0) fail(std::strerror(errno));
  }

  void read(void* into, std::size_t count) {
    auto* bytes = static_cast<std::byte*>(into);
    while (count > 0) {
      const ssize_t got = ::read(fd_, bytes, count);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) fail(std::strerror(errno));
      if (got == 0) throw DataError("truncated while it was being read");
      bytes += got;
      count -= static_cast<std::size_t>(got);
    }
  }

 private:
  [[noreturn]] void fail(const char* why) const {
    throw IoError(fmt::format("cannot read {}: {}", shown_, why));
  }

  std::string shown_;
  int fd_;
  std::uint64_t size_ = 0;
};

/// The header and nothing after it. All its claims have then been checked against the size. Data
/// begins at `data_begin`.
SafetensorsHeader read_header(InputFile& file, std::uint64_t& data_begin) {
  std::uint64_t length = 0;
  if (file.size() < sizeof length)
    throw DataError(
        fmt::format("truncated: the size is {} bytes, at least 8 expected", file.size()));
  file.read(&length, sizeof length);
  if (length == 0 || length > kMaxHeaderBytes)
    throw DataError(
        fmt::format("header length: expected 1 to {} bytes, got {}", kMaxHeaderBytes, length));
  const std::uint64_t rest = file.size() - sizeof length;
  if (length > rest)
    throw DataError(fmt::format("truncated: header of {} bytes expected, {} given", length, rest));
  std::string text(length, '\0');
  file.read(text.data(), text.size());
  SafetensorsHeader header = parse_header(text);
  const std::uint64_t data = header.tensors.empty() ? 0 : header.tensors.back().end;
  if (data != rest - length)
    throw DataError(fmt::format("{}: {} bytes of data expected, {} given",
                                data > rest - length ? "truncated" : "wrong size", data,
                                rest - length));
  data_begin = sizeof length + length;
  return header;
}

/// That its tensors can all be read, and have room.
void check_memory(const SafetensorsHeader& header) {
  double needed = 0;
  for (const TensorEntry& entry : header.tensors)
    needed += static_cast<double>(entry.shape.numel()) *
              static_cast<double>(autograd::item_size(encoding_of(entry).dtype));
  const double limit = kMemoryShare * memory_limit();
  if (needed > limit)
    throw DataError(fmt::format("its tensors need {:.3g} GB of memory, at most {:.3g} GB expected",
                                needed / 1e9, limit / 1e9));
}

// Both have the 8 exponent bits or fewer of a float, so every value fits exactly; NaNs keep sign
// and payload.
float from_bits(std::uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

float from_bf16(std::uint16_t bits) { return from_bits(std::uint32_t{bits} << 16); }

float from_f16(std::uint16_t bits) {
  const std::uint32_t sign = (bits & 0x8000u) << 16, exponent = bits >> 10 & 0x1f;
  const std::uint32_t fraction = bits & 0x3ffu;
  if (exponent == 0) {  // zeros and subnormals: fraction * 2^-24
    const float magnitude = static_cast<float>(fraction) * 0x1p-24f;
    return sign == 0 ? magnitude : -magnitude;
  }
  const std::uint32_t wide = exponent == 31 ? 255 : exponent - 15 + 127;
  return from_bits(sign | wide << 23 | fraction << 13);
}

Array read_halves(InputFile& file, const TensorEntry& entry) {
  const auto convert = entry.encoding->name == "F16" ? from_f16 : from_bf16;
  return Array::build<float>(entry.shape, [&](std::span<float> out) {
    std::array<std::uint16_t, 4096> halves;
    while (!out.empty()) {
      const std::size_t count = std::min(halves.size(), out.size());
      file.read(halves.data(), count * sizeof halves[0]);
      std::transform(halves.begin(), halves.begin() + count, out.begin(), convert);
      out = out.subspan(count);
    }
  });
}

Array read_bools(InputFile& file, const TensorEntry& entry) {
  return Array::build<bool>(entry.shape, [&](std::span<bool> out) {
    auto* bytes = reinterpret_cast<unsigned char*>(out.data());
    file.read(bytes, out.size());
    const auto* bad =
        std::find_if(bytes, bytes + out.size(), [](unsigned char b) { return b > 1; });
    if (bad != bytes + out.size())
      throw DataError(fmt::format("tensor {}: BOOL at {}: expected 0 or 1, got {}",
                                  label(entry.name), bad - bytes, *bad));
  });
}

Array read_array(InputFile& file, const TensorEntry& entry) {
  const DType dtype = encoding_of(entry).dtype;
  if (entry.encoding->bytes != autograd::item_size(dtype)) return read_halves(file, entry);
  if (dtype == DType::b8) return read_bools(file, entry);
  return autograd::dispatch_any(dtype, [&](auto tag) {
    return Array::build<decltype(tag)>(entry.shape,
                                       [&](auto out) { file.read(out.data(), out.size_bytes()); });
  });
}

}  // namespace

void write_safetensors(const std::string& path, const Safetensors& content,
                       const FileSystem& system) {
  const SafetensorsHeader header = header_of(content);
  std::string text;
  try {
    text = format_header(header);
  } catch (const DataError& error) {
    throw DataError(fmt::format("{}: {}", quote(path), error.what()));
  }
  const std::uint64_t length = text.size();
  AtomicFile file(path, fmt::format("cannot write {}", quote(path)), system);
  file.write(std::as_bytes(std::span(&length, 1)));
  file.write(text);
  for (const TensorEntry& entry : header.tensors)
    file.write(bytes_of(content.tensors.at(entry.name).data()));
  file.commit();
}

Safetensors read_safetensors(const std::string& path,
                             const std::function<void(SafetensorsHeader&)>& choose) {
  InputFile file(path);
  try {
    std::uint64_t data_begin = 0;
    SafetensorsHeader header = read_header(file, data_begin);
    if (choose) choose(header);
    check_memory(header);
    Safetensors content{.tensors = {}, .metadata = std::move(header.metadata)};
    for (const TensorEntry& entry : header.tensors) {
      file.seek(data_begin + entry.begin);
      content.tensors.emplace(entry.name, autograd::Tensor(read_array(file, entry)));
    }
    return content;
  } catch (const DataError& error) {
    throw DataError(fmt::format("{}: {}", quote(path), error.what()));
  }
}

}  // namespace nn
