#include "experiments/training/tokenizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "experiments/cli/errors.h"
#include "experiments/report/text.h"

namespace experiments::training {
namespace {

/// Calls f(character, offset in bytes) for each character of a text that was checked.
template <class F>
void for_each_character(std::string_view text, F&& f) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = report::utf8_length(text.substr(at));
    f(text.substr(at, length), at);
    at += length;
  }
}

}  // namespace

void check_text(std::string_view text, std::string_view what) {
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] == '\0')
      throw cli::DataError(
          fmt::format("{}: a NUL at byte {}: this is a binary file, not text", what, at));
    const std::size_t length = report::utf8_length(text.substr(at));
    if (length == 0)
      throw cli::DataError(fmt::format("{}: expected UTF-8, got {} at byte {}", what,
                                       report::quote(text.substr(at, 1)), at));
    at += length;
  }
}

CharTokenizer::CharTokenizer(std::string_view text) {
  check_text(text, "text");
  std::set<std::string_view> seen;
  for_each_character(text, [&seen](std::string_view c, std::size_t) { seen.insert(c); });
  characters_.assign(seen.begin(), seen.end());
}

CharTokenizer CharTokenizer::from_vocabulary(std::vector<std::string> characters) {
  for (std::size_t i = 0; i < characters.size(); ++i) {
    const std::string& c = characters[i];
    if (c.empty() || c == std::string(1, '\0') || report::utf8_length(c) != c.size())
      throw cli::DataError(fmt::format("vocabulary: expected one character as entry {}, got {}", i,
                                       report::quote(c)));
    if (i > 0 && !(characters[i - 1] < c))
      throw cli::DataError(fmt::format("vocabulary: entry {}, {}, must come after {}", i,
                                       report::quote(c), report::quote(characters[i - 1])));
  }
  CharTokenizer tokenizer;
  tokenizer.characters_ = std::move(characters);
  return tokenizer;
}

std::int64_t CharTokenizer::token(std::string_view character) const {
  const auto found = std::ranges::lower_bound(characters_, character, std::less<>());
  return found != characters_.end() && *found == character ? found - characters_.begin() : -1;
}

Tokens CharTokenizer::encode(std::string_view text) const {
  check_text(text, "text");
  Tokens tokens;
  tokens.reserve(text.size());
  for_each_character(text, [&](std::string_view c, std::size_t at) {
    const std::int64_t known = token(c);
    if (known < 0)
      throw cli::DataError(
          fmt::format("text: {} at byte {} is not one of the {} characters of the "
                      "vocabulary",
                      report::quote(c), at, size()));
    tokens.push_back(known);
  });
  return tokens;
}

std::string CharTokenizer::decode(std::span<const std::int64_t> tokens) const {
  std::string text;
  for (const std::int64_t token : tokens) {
    if (token < 0 || token >= size())
      throw cli::DataError(
          fmt::format("decode: expected tokens in [0, {}), got {}", size(), token));
    text += characters_[static_cast<std::size_t>(token)];
  }
  return text;
}

}  // namespace experiments::training
