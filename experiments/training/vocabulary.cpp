#include "experiments/training/vocabulary.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "experiments/cli/errors.h"
#include "experiments/report/text.h"

namespace experiments::training {
namespace {

constexpr std::string_view kBlanks = " \t\n";

bool is_character(std::string_view entry) { return report::utf8_length(entry) == entry.size(); }

bool has_blank(std::string_view entry) {
  return entry.find_first_of(kBlanks) != std::string_view::npos;
}

}  // namespace

Vocabulary::Vocabulary(std::vector<std::string> entries) : entries_(std::move(entries)) {
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    if (entries_[i].empty()) continue;
    tokens_.emplace(entries_[i], static_cast<std::int64_t>(i));  // the first of equals
    longest_ = std::max(longest_, entries_[i].size());
  }
  passes_blanks_ = std::ranges::none_of(entries_, has_blank);
  if (passes_blanks_ && !std::ranges::all_of(entries_, is_character)) separator_ = " ";
}

Tokens Vocabulary::encode(std::string_view text, std::string_view what) const {
  Tokens tokens;
  for (std::size_t at = 0; at < text.size();) {
    if (passes_blanks_ && kBlanks.find(text[at]) != kBlanks.npos) {
      ++at;
      continue;
    }
    std::size_t length = std::min(longest_, text.size() - at);
    auto found = tokens_.end();
    while (length > 0 && (found = tokens_.find(text.substr(at, length))) == tokens_.end()) --length;
    if (length == 0) {
      const std::size_t bytes = std::max<std::size_t>(report::utf8_length(text.substr(at)), 1);
      throw cli::DataError(fmt::format("{}: {} at byte {} is not in the model's vocabulary of {}",
                                       what, report::quote(text.substr(at, bytes)), at, size()));
    }
    tokens.push_back(found->second);
    at += length;
  }
  return tokens;
}

std::string Vocabulary::decode(std::span<const std::int64_t> tokens) const {
  std::string text;
  for (const std::int64_t token : tokens) {
    if (!text.empty()) text += separator_;
    text += (*this)[token];
  }
  return text;
}

}  // namespace experiments::training
