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

#include "experiments/cli/errors.h"
#include "experiments/report/text.h"
#include "experiments/training/safetensors.h"
#include "experiments/training/safetensors_header.h"

namespace experiments::training {
namespace {

using autograd::Array;

static_assert(std::endian::native == std::endian::little);

/// A regular file that is read from its beginning.
class InputFile {
 public:
  explicit InputFile(const std::string& path)
      : shown_(report::quote(path, 100)),
        fd_(open(path.c_str(), O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC)) {
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

  void read(void* into, std::size_t count) {
    auto* bytes = static_cast<std::byte*>(into);
    while (count > 0) {
      const ssize_t got = ::read(fd_, bytes, count);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) fail(std::strerror(errno));
      if (got == 0) throw cli::DataError("truncated while it was being read");
      bytes += got;
      count -= static_cast<std::size_t>(got);
    }
  }

 private:
  [[noreturn]] void fail(const char* why) const {
    throw cli::IoError(fmt::format("cannot read {}: {}", shown_, why));
  }

  std::string shown_;
  int fd_;
  std::uint64_t size_ = 0;
};

/// The header and nothing behind it. All that is claimed has then been held against the size.
SafetensorsHeader read_header(InputFile& file) {
  std::uint64_t length = 0;
  if (file.size() < sizeof length)
    throw cli::DataError(
        fmt::format("truncated: the size is {} bytes, at least 8 expected", file.size()));
  file.read(&length, sizeof length);
  if (length == 0 || length > kMaxHeaderBytes)
    throw cli::DataError(
        fmt::format("header length: expected 1 to {} bytes, got {}", kMaxHeaderBytes, length));
  const std::uint64_t rest = file.size() - sizeof length;
  if (length > rest)
    throw cli::DataError(
        fmt::format("truncated: header of {} bytes expected, {} given", length, rest));
  std::string text(length, '\0');
  file.read(text.data(), text.size());
  SafetensorsHeader header = parse_header(text);
  const std::uint64_t data = header.tensors.empty() ? 0 : header.tensors.back().end;
  if (data != rest - length)
    throw cli::DataError(fmt::format("{}: {} bytes of data expected, {} given",
                                     data > rest - length ? "truncated" : "wrong size", data,
                                     rest - length));
  return header;
}

// Both have the 8 exponent bits or fewer of a float, so every value fits exactly; NaNs keep sign
// and payload.
float from_bf16(std::uint16_t bits) { return std::bit_cast<float>(std::uint32_t{bits} << 16); }

float from_f16(std::uint16_t bits) {
  const std::uint32_t sign = (bits & 0x8000u) << 16, exponent = bits >> 10 & 0x1f;
  const std::uint32_t fraction = bits & 0x3ffu;
  if (exponent == 0) {  // zeros and subnormals: fraction * 2^-24
    const float magnitude = static_cast<float>(fraction) * 0x1p-24f;
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(magnitude) | sign);
  }
  const std::uint32_t wide = exponent == 31 ? 255 : exponent - 15 + 127;
  return std::bit_cast<float>(sign | wide << 23 | fraction << 13);
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
      throw cli::DataError(fmt::format("tensor {}: BOOL at {}: expected 0 or 1, got {}",
                                       label(entry.name), bad - bytes, *bad));
  });
}

Array read_array(InputFile& file, const TensorEntry& entry) {
  const autograd::DType dtype = entry.encoding->dtype;
  if (entry.encoding->bytes != autograd::item_size(dtype)) return read_halves(file, entry);
  if (dtype == autograd::DType::b8) return read_bools(file, entry);
  return autograd::dispatch_any(dtype, [&](auto tag) {
    return Array::build<decltype(tag)>(entry.shape,
                                       [&](auto out) { file.read(out.data(), out.size_bytes()); });
  });
}

}  // namespace

Safetensors read_safetensors(const std::string& path) {
  InputFile file(path);
  try {
    SafetensorsHeader header = read_header(file);
    Safetensors content{.tensors = {}, .metadata = std::move(header.metadata)};
    for (const TensorEntry& entry : header.tensors)
      content.tensors.emplace(entry.name, autograd::Tensor(read_array(file, entry)));
    return content;
  } catch (const cli::DataError& error) {
    throw cli::DataError(fmt::format("{}: {}", report::quote(path, 100), error.what()));
  }
}

}  // namespace experiments::training
