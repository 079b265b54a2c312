#include "experiments/report/text.h"

#include <fmt/format.h>

#include <algorithm>

namespace experiments::report {
namespace {

unsigned byte_at(std::string_view text, std::size_t i) {
  return static_cast<unsigned char>(text[i]);
}

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

std::string lowered(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), lower);
  return out;
}

/// Insertions, deletions, replacements and swaps of neighbours that turn a into b.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1])});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before = last;
    last = row;
  }
  return last[b.size()];
}

bool is_control(std::string_view character) {
  const unsigned first = byte_at(character, 0);
  return first < 0x20 || first == 0x7f || (first == 0xc2 && byte_at(character, 1) < 0xa0);
}

/// Characters that nobody sees but that turn the order of a line, break it or hide in it; the
/// joiners U+200C and U+200D, which scripts need, are none of them.
bool is_invisible(std::string_view character) {
  if (character == "\ufeff") return true;
  if (character.size() != 3 || byte_at(character, 0) != 0xe2) return false;
  const unsigned second = byte_at(character, 1), third = byte_at(character, 2);
  if (second == 0x81) return third >= 0xa0 && third <= 0xaf;  // U+2060 to U+206F
  return second == 0x80 &&
         (third == 0x8b || third == 0x8e || third == 0x8f || (third >= 0xa8 && third <= 0xae));
}

/// The first character of `text` as printable() shows it; removes it from `text`.
std::string take_printable(std::string_view& text) {
  const std::size_t length = utf8_length(text);
  const std::string_view character = text.substr(0, std::max<std::size_t>(length, 1));
  text.remove_prefix(character.size());
  if (length > 0 && !is_control(character) && !is_invisible(character))
    return std::string(character);
  if (character == "\n") return "\\n";
  if (character == "\t") return "\\t";
  std::string out;
  for (std::size_t i = 0; i < character.size(); ++i)
    out += fmt::format("\\x{:02x}", byte_at(character, i));
  return out;
}

}  // namespace

std::size_t utf8_length(std::string_view text) {
  if (text.empty()) return 0;
  const unsigned first = byte_at(text, 0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte_at(text, i) & 0xc0) != 0x80) return 0;
  const unsigned second = byte_at(text, 1);
  const bool overlong = (first == 0xe0 && second < 0xa0) || (first == 0xf0 && second < 0x90);
  const bool surrogate = first == 0xed && second >= 0xa0;
  const bool too_large = first == 0xf4 && second >= 0x90;
  return overlong || surrogate || too_large ? 0 : length;
}

std::string printable(std::string_view text) {
  std::string out;
  while (!text.empty()) out += take_printable(text);
  return out;
}

std::string quote(std::string_view text, std::size_t limit) {
  std::string out;
  for (std::size_t width = 0; !text.empty();) {
    const std::string shown = take_printable(text);
    width += display_width(shown);
    if (width > limit) return "'" + out + "...'";
    out += shown;
  }
  return "'" + out + "'";
}

std::string shell_word(std::string_view text) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./,:=+@%";
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string_view::npos)
    return std::string(text);
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'') out += "'\\''";
    else out += c;
  }
  return out + "'";
}

std::string nearest(std::string_view text, std::span<const std::string> known) {
  if (text.size() > 64) return "";
  const std::string wanted = lowered(text);
  std::string best;
  std::size_t least = (wanted.size() + 1) / 3 + 1;
  for (const std::string& name : known) {
    const bool begins = wanted.size() >= 3 && lowered(name).starts_with(wanted);
    const std::size_t distance = begins ? 1 : edit_distance(wanted, lowered(name));
    if (distance < least && distance < std::max(name.size(), wanted.size())) {
      best = name;
      least = distance;
    }
  }
  return best;
}

std::string did_you_mean(std::string_view text, std::span<const std::string> known) {
  const std::string name = nearest(text, known);
  return name.empty() ? "" : fmt::format("; did you mean '{}'?", name);
}

std::string join(std::span<const std::string> words, std::string_view separator) {
  return fmt::format("{}", fmt::join(words, separator));
}

std::vector<std::string> wrapped(std::string_view text, std::size_t width) {
  std::vector<std::string> lines;
  std::string line;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const bool fits = display_width(line) + 1 + display_width(word) <= width;
    if (!line.empty() && !fits) {
      lines.push_back(line);
      line.clear();
    }
    if (!line.empty()) line += ' ';
    line += word;
  }
  lines.push_back(line);
  return lines;
}

}  // namespace experiments::report
