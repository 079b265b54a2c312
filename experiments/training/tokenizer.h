#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/cli/options.h"

namespace experiments::training {

using autograd::Index;

using Tokens = std::vector<std::int64_t>;

/// DataError with the offset in bytes unless `text` is UTF-8 without NUL bytes; `what` names it.
void check_text(std::string_view text, std::string_view what);

/// One token per character, where a character is one Unicode code point; tokens count from 0 in the
/// order of the code points.
class CharTokenizer {
 public:
  /// The characters of `text`. DataError as from check_text().
  explicit CharTokenizer(std::string_view text);
  /// A vocabulary that vocabulary() gave. DataError names an entry that is not one character or not
  /// after the one before it.
  static CharTokenizer from_vocabulary(std::vector<std::string> characters);

  Index size() const { return static_cast<Index>(characters_.size()); }
  const std::vector<std::string>& vocabulary() const { return characters_; }

  /// DataError names the first character that is not in the vocabulary, and where it is.
  Tokens encode(std::string_view text) const;
  /// Tokens in [0, size()); DataError names any other.
  std::string decode(std::span<const std::int64_t> tokens) const;

 private:
  CharTokenizer() = default;
  std::int64_t token(std::string_view character) const;  // -1 if there is none

  std::vector<std::string> characters_;  // sorted; UTF-8 sorts as the code points do
};

}  // namespace experiments::training
