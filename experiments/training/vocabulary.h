#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/training/tokenizer.h"

namespace experiments::training {

using autograd::Index;

/// The texts of a model's tokens, whatever they are: characters, words of a task, pieces, numbers.
class Vocabulary {
 public:
  explicit Vocabulary(std::vector<std::string> entries);

  Index size() const { return static_cast<Index>(entries_.size()); }
  /// What stands between tokens: a blank where they could not be told apart without ("12 7"), or
  /// nothing.
  const std::string& separator() const { return separator_; }
  /// The longest entry at each place; blanks are passed over where no entry has one. DataError,
  /// naming `what`, the first character that begins no entry and its place.
  Tokens encode(std::string_view text, std::string_view what) const;
  std::string decode(std::span<const std::int64_t> tokens) const;
  const std::string& operator[](std::int64_t token) const {
    return entries_.at(static_cast<std::size_t>(token));
  }

 private:
  std::vector<std::string> entries_;
  std::map<std::string, std::int64_t, std::less<>> tokens_;
  std::size_t longest_ = 0;  // bytes of an entry
  bool passes_blanks_ = false;
  std::string separator_;
};

}  // namespace experiments::training
