#include "experiments/attention/tokens.h"

#include <fmt/format.h>

#include <algorithm>

#include "autograd/ops.h"
#include "experiments/attention/draws.h"
#include "experiments/attention/layer.h"
#include "experiments/report/text.h"

namespace experiments::attention {
namespace {

constexpr std::string_view kWhite = " \t\n\v\f\r";

/// FNV-1a: names the stream of a word.
std::uint64_t hash(std::string_view text) {
  std::uint64_t h = 14695981039346656037u;
  for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return h;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = report::utf8_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

}  // namespace

std::vector<std::string> split_words(std::string_view flag, std::string_view text) {
  if (!is_utf8(text))
    throw UsageError(fmt::format("{}: expected UTF-8, got {}", flag, report::quote(text)));
  std::vector<std::string> words;
  for (std::size_t begin = 0; begin < text.size();) {
    begin = text.find_first_not_of(kWhite, begin);
    if (begin == std::string_view::npos) break;
    const std::size_t end = std::min(text.find_first_of(kWhite, begin), text.size());
    words.emplace_back(text.substr(begin, end - begin));
    begin = end;
  }
  const auto count = static_cast<Index>(words.size());
  if (count < 1 || count > kMaxTokens)
    throw UsageError(fmt::format("{}: expected 1 to {} words, got {} in {}", flag, kMaxTokens,
                                 count, report::quote(text)));
  return words;
}

std::vector<std::string> numbered_tokens(Index count) {
  std::vector<std::string> tokens;
  for (Index i = 0; i < count; ++i) tokens.push_back(fmt::format("t{}", i));
  return tokens;
}

autograd::Tensor embedded(const std::vector<std::string>& words, Index channels, const Run& run) {
  std::vector<autograd::Tensor> rows;
  for (std::size_t i = 0; i < words.size(); ++i) {
    // The top byte stays free for the other streams.
    const auto word = key_of(run.seed, Draw::input, hash(words[i]) >> 8);
    const auto place = key_of(run.seed, Draw::position, i);
    rows.push_back(normals({channels}, run, word) + normals({channels}, run, place, 0.5));
  }
  return autograd::stack(rows, 0);
}

std::string numbered(Index i, const std::vector<std::string>& tokens) {
  return fmt::format("{} {}", i, tokens[static_cast<std::size_t>(i)]);
}

std::string title(Index i, const std::vector<std::string>& tokens, const Run& run) {
  std::string text =
      report::fitted(report::printable(numbered(i, tokens)), 16, run.unicode ? "…" : "~");
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

}  // namespace experiments::attention
