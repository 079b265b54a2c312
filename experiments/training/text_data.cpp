#include "experiments/training/text_data.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cassert>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "experiments/cli/errors.h"
#include "experiments/cli/memory.h"
#include "experiments/cli/signals.h"
#include "experiments/report/text.h"

namespace experiments::training {
namespace {

/// A text of `bytes` bytes twice, as it was read and without CR, and its tokens.
double memory_of(std::size_t bytes) {
  return static_cast<double>(bytes) * (2 + sizeof(std::int64_t));
}

std::string read_bytes(const std::string& path) {
  const auto fail = [&path](int error) {
    cli::throw_if_interrupted();
    throw cli::IoError(fmt::format("cannot read {}: {}", text_name(path), std::strerror(error)));
  };
  const int fd = path == kStandardInput ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
                                        : open(path.c_str(), O_RDONLY | O_NOCTTY | O_CLOEXEC);
  if (fd < 0) fail(errno);
  struct stat about {};
  if (fstat(fd, &about) == 0 && S_ISCHR(about.st_mode) && !isatty(fd)) {
    close(fd);
    throw cli::IoError(fmt::format(
        "cannot read {}: it is a device; expected a file, a pipe or a terminal", text_name(path)));
  }
  std::string bytes;
  std::vector<char> buffer(1 << 20);
  const double limit = cli::memory_limit();
  ssize_t count = 0;
  while ((count = read(fd, buffer.data(), buffer.size())) > 0 && !cli::interrupted()) {
    bytes.append(buffer.data(), static_cast<std::size_t>(count));
    if (memory_of(bytes.size()) > limit) break;
  }
  const int error = errno;
  close(fd);
  cli::throw_if_interrupted();
  if (count < 0) fail(error);
  cli::require_memory(memory_of(bytes.size()), limit);
  return bytes;
}

/// Every line end as LF, in place.
void normalize_line_ends(std::string& text) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_cr = text[i] == '\r';
    if (is_cr && i + 1 < text.size() && text[i + 1] == '\n') continue;
    text[kept++] = is_cr ? '\n' : text[i];
  }
  text.resize(kept);
}

}  // namespace

std::string clean_text(std::string text, std::string_view what) {
  check_text(text, what);
  if (text.starts_with("\xef\xbb\xbf")) text.erase(0, 3);
  normalize_line_ends(text);
  return text;
}

std::string text_name(const std::string& path) {
  return path == kStandardInput ? "standard input" : report::quote(path, report::kPathShown);
}

std::string read_text(const std::string& path) {
  return clean_text(read_bytes(path), text_name(path));
}

TextData::TextData(Tokens tokens, std::vector<std::string> vocabulary, Index block_size)
    : tokens_(std::move(tokens)),
      vocabulary_(std::move(vocabulary)),
      block_size_(block_size),
      train_size_(static_cast<Index>(tokens_.size()) * 9 / 10) {
  const auto size = static_cast<Index>(tokens_.size());
  if (size <= block_size)
    throw cli::DataError(fmt::format("data has {} tokens, but block size {} needs at least {}",
                                     size, block_size, block_size + 1));
  for (const Split split : {Split::train, Split::validation}) {
    const auto part = static_cast<Index>(this->tokens(split).size());
    if (part <= block_size)
      throw cli::DataError(fmt::format(
          "data has {} tokens, {} of them for {}, but block size {} needs at least {} there", size,
          part, split == Split::train ? "training" : "validation", block_size, block_size + 1));
  }
}

std::span<const std::int64_t> TextData::tokens(Split split) const {
  const std::span all(tokens_);
  const auto train = static_cast<std::size_t>(train_size_);
  return split == Split::train ? all.first(train) : all.subspan(train);
}

Batch TextData::batch(Split split, Index size, autograd::RandomKey key) const {
  const auto places = static_cast<double>(static_cast<Index>(tokens(split).size()) - block_size_);
  const autograd::Array drawn =
      autograd::uniform({size}, 0, places, autograd::DType::f64, key).to(autograd::DType::i64);
  std::vector<Index> offsets;
  for (const std::int64_t offset : drawn.read<std::int64_t>()) offsets.push_back(offset);
  return cut(split, offsets);
}

Index TextData::window_count(Split split) const {
  return (static_cast<Index>(tokens(split).size()) - 1) / block_size_;
}

Batch TextData::windows(Split split, Index first, Index count) const {
  assert(first >= 0 && count >= 0 && first + count <= window_count(split));
  std::vector<Index> offsets;
  for (Index i = 0; i < count; ++i) offsets.push_back((first + i) * block_size_);
  return cut(split, offsets);
}

/// The windows that begin at `offsets` of a part, and as y those one token later.
Batch TextData::cut(Split split, std::span<const Index> offsets) const {
  const std::span part = tokens(split);
  const auto shifted = [&](Index shift) {
    Tokens rows;
    rows.reserve(offsets.size() * static_cast<std::size_t>(block_size_));
    for (const Index offset : offsets) {
      const auto row = part.begin() + offset + shift;
      rows.insert(rows.end(), row, row + block_size_);
    }
    const autograd::Shape shape{static_cast<Index>(offsets.size()), block_size_};
    return autograd::Tensor(autograd::Array::from<std::int64_t>(rows, shape));
  };
  return {shifted(0), shifted(1)};
}

}  // namespace experiments::training
