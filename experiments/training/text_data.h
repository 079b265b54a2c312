#pragma once

#include <span>
#include <string>
#include <string_view>

#include "autograd/array/random.h"
#include "experiments/training/batch.h"
#include "experiments/training/tokenizer.h"

namespace experiments::training {

using autograd::Index;

/// A text from outside, as models see it: UTF-8, without a byte order mark, and every line end,
/// CRLF and a CR alone too, as LF. DataError, naming `what` and the offset, if it is no text.
std::string clean_text(std::string text, std::string_view what);

/// clean_text() of a file, or of standard input where `path` is "-". IoError with path and reason
/// if it cannot be read, UsageError if its tokens would not fit into memory, Interrupted.
std::string read_text(const std::string& path);
/// What messages call it: "standard input", or the path between quotes.
std::string text_name(const std::string& path);
inline constexpr const char* kStandardInput = "-";

enum class Split { train, validation };

/// The tokens of a text in two parts, the first 90 % to train on and the rest to validate on, and
/// windows of block_size tokens from them.
class TextData {
 public:
  /// DataError unless each part has at least block_size + 1 tokens. block_size is at least 1.
  TextData(Tokens tokens, std::vector<std::string> vocabulary, Index block_size);
  TextData(std::string_view text, const CharTokenizer& tokenizer, Index block_size)
      : TextData(tokenizer.encode(text), tokenizer.vocabulary(), block_size) {}
  /// With the characters of the text itself as the vocabulary.
  TextData(std::string_view text, Index block_size)
      : TextData(text, CharTokenizer(text), block_size) {}

  const std::vector<std::string>& vocabulary() const { return vocabulary_; }
  Index block_size() const { return block_size_; }  // T
  std::span<const std::int64_t> tokens(Split split) const;

  /// `size` windows that begin anywhere, equally likely; row b is a function of (key, b). With a
  /// key of (seed, iteration) a run can go on where it stopped.
  Batch batch(Split split, Index size, autograd::RandomKey key) const;

  /// The windows that lie side by side in a part, in order; tokens at the end that do not fill one
  /// are left out.
  Index window_count(Split split) const;
  /// `count` of them from window `first` on, all of which must exist.
  Batch windows(Split split, Index first, Index count) const;

 private:
  Batch cut(Split split, std::span<const Index> offsets) const;

  Tokens tokens_;
  std::vector<std::string> vocabulary_;
  Index block_size_;
  Index train_size_;
};

}  // namespace experiments::training
