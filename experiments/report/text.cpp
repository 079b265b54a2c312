#include "experiments/report/text.h"

#include <fmt/format.h>
#include <utf8proc.h>

#include <algorithm>

namespace experiments::report {
namespace {

/// A character, or a byte that is not part of one.
struct Character {
  std::string_view bytes;
  std::int32_t code;  // -1 of a byte
};

/// The first character of `text`, which may not be empty; removes it.
Character take(std::string_view& text) {
  std::int32_t code = -1;
  const auto* bytes = reinterpret_cast<const utf8proc_uint8_t*>(text.data());
  const auto size = static_cast<utf8proc_ssize_t>(text.size());
  const auto length = std::max<utf8proc_ssize_t>(utf8proc_iterate(bytes, size, &code), 1);
  const std::string_view character = text.substr(0, static_cast<std::size_t>(length));
  text.remove_prefix(character.size());
  return {character, code};
}

std::size_t width_of(const Character& c) {
  return c.code < 0x80 ? 1 : static_cast<std::size_t>(utf8proc_charwidth(c.code));
}

/// Invisible characters that reverse the order of a line, break it or hide in it; not the joiners
/// U+200C and U+200D, which scripts need.
bool is_invisible(std::int32_t code) {
  switch (utf8proc_category(code)) {
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP: return true;
    case UTF8PROC_CATEGORY_CF: return code != 0x200c && code != 0x200d;
    default: return false;
  }
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

/// The first character of `text` as printable() shows it; removes it from `text`.
std::string take_printable(std::string_view& text) {
  const auto [bytes, code] = take(text);
  if (code >= 0 && !is_invisible(code)) return std::string(bytes);
  if (code == '\n') return "\\n";
  if (code == '\t') return "\\t";
  std::string out;
  for (const char byte : bytes) out += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
  return out;
}

}  // namespace

std::size_t utf8_length(std::string_view text) {
  if (text.empty()) return 0;
  const auto [bytes, code] = take(text);
  return code < 0 ? 0 : bytes.size();
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

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  while (!text.empty()) width += width_of(take(text));
  return width;
}

std::vector<std::string> clusters(std::string_view text) {
  std::vector<std::string> pieces;
  std::int32_t before = 0, state = 0;
  while (!text.empty()) {
    const auto [bytes, code] = take(text);
    if (pieces.empty() || utf8proc_grapheme_break_stateful(before, code, &state))
      pieces.emplace_back(bytes);
    else pieces.back() += bytes;
    before = code;
  }
  return pieces;
}

std::string fitted(std::string_view text, std::size_t width, std::string_view cut) {
  std::string out(text);
  std::size_t used = display_width(text);
  if (used > width) {
    out.clear();
    used = std::min(display_width(cut), width);
    const std::size_t tail = used;
    for (const std::string& piece : clusters(text)) {
      if (used + display_width(piece) > width) break;
      used += display_width(piece);
      out += piece;
    }
    if (tail > 0) out += cut;
  }
  return out + std::string(width - used, ' ');
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
