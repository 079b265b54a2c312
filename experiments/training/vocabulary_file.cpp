#include "experiments/training/vocabulary_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "experiments/cli/errors.h"
#include "experiments/report/text.h"
#include "experiments/training/text_data.h"

namespace experiments::training {
namespace {

using nlohmann::json;
using Texts = std::vector<std::string>;

constexpr unsigned kFirstStandIn = 0x100;

template <class... Args>
[[noreturn]] void refuse(const std::string& path, fmt::format_string<Args...> text,
                         Args&&... args) {
  throw cli::DataError(fmt::format("{}: {}", report::quote(path, report::kPathShown),
                                   fmt::format(text, std::forward<Args>(args)...)));
}

Texts texts_of_list(const std::string& path, const json& list) {
  for (const json& entry : list)
    if (!entry.is_string()) refuse(path, "expected a JSON list of strings, one per token");
  return list.get<Texts>();
}

Texts texts_of_object(const std::string& path, const json& object, Index rows) {
  Texts texts;
  std::set<std::size_t> seen;
  for (const auto& [text, number] : object.items()) {
    if (!number.is_number_unsigned() || number.get<std::uint64_t>() >= std::uint64_t(rows))
      refuse(path, "{}: expected the number of a token in [0, {}), got {}", report::quote(text),
             rows, report::quote(number.dump()));
    const auto token = number.get<std::size_t>();
    if (!seen.insert(token).second) refuse(path, "two texts have the number {}", token);
    texts.resize(std::max(texts.size(), token + 1));
    texts[token] = text;
  }
  if (seen.size() != texts.size()) {
    std::size_t missing = 0;
    while (seen.contains(missing)) ++missing;
    refuse(path, "no text has the number {}", missing);
  }
  return texts;
}

// GPT-2 writes bytes as characters: a byte that is a visible character of Latin-1 as that one, each
// other byte, in their order, as one of those from U+0100 on.
bool stands_for_itself(unsigned byte) {
  return (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
}

std::optional<char> byte_of(unsigned character) {
  if (character < kFirstStandIn)
    return stands_for_itself(character) ? std::optional(static_cast<char>(character))
                                        : std::nullopt;
  unsigned others = character - kFirstStandIn;
  for (unsigned byte = 0; byte < 256; ++byte)
    if (!stands_for_itself(byte) && others-- == 0) return static_cast<char>(byte);
  return std::nullopt;
}

/// The first character of checked UTF-8, where it takes one or two bytes; larger than all of these
/// elsewhere.
unsigned first_character(std::string_view text) {
  const auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const std::size_t length = report::utf8_length(text);
  if (length == 1) return byte(0);
  return length == 2 ? (byte(0) & 0x1fu) << 6 | (byte(1) & 0x3fu) : ~0u;
}

/// All texts as the bytes that they stand for, or as they are if not all are written so.
Texts without_stand_ins(Texts texts) {
  Texts all;
  bool has_stand_in = false;
  for (std::string_view rest : texts) {
    std::string bytes;
    for (; !rest.empty(); rest.remove_prefix(report::utf8_length(rest))) {
      const unsigned character = first_character(rest);
      const std::optional<char> byte = byte_of(character);
      if (!byte) return texts;
      has_stand_in = has_stand_in || character >= kFirstStandIn;
      bytes += *byte;
    }
    all.push_back(std::move(bytes));
  }
  return has_stand_in ? all : texts;
}

/// Whether a table of `size` rows becomes one of `rows` where it is filled up to a multiple of 8,
/// 16, 32, ...
bool is_filled_up(Index size, Index rows) {
  return rows % 8 == 0 && size < rows && rows - size < (rows & -rows);
}

}  // namespace

std::vector<std::string> read_vocabulary(const std::string& path, Index rows) {
  const json file = json::parse(read_text(path), nullptr, /*allow_exceptions=*/false);
  if (!file.is_array() && !file.is_object())
    refuse(path, "expected a JSON list of strings, one per token, or an object of their numbers");
  Texts texts = file.is_array() ? texts_of_list(path, file)
                                : without_stand_ins(texts_of_object(path, file, rows));
  if (std::ssize(texts) != rows && !is_filled_up(std::ssize(texts), rows))
    refuse(path, "expected {} strings, one for each row of wte.weight, got {}", rows, texts.size());
  texts.resize(static_cast<std::size_t>(rows));
  return texts;
}

}  // namespace experiments::training
