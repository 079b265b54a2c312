#include "experiments/cli/toml.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdint>

#include "experiments/report/text.h"

namespace experiments::cli {
namespace {

bool is_decimal(char c) { return c >= '0' && c <= '9'; }
bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }
bool is_bare(char c) {
  return is_decimal(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '-';
}

/// Removes digits from the front of `rest`, single underscores between them, and appends them to
/// `out`; false if there are none.
bool take_digits(std::string_view& rest, std::string& out) {
  if (rest.empty() || !is_decimal(rest[0])) return false;
  while (!rest.empty()) {
    if (rest[0] == '_' && rest.size() > 1 && is_decimal(rest[1])) rest.remove_prefix(1);
    if (!is_decimal(rest[0])) return true;
    out += rest[0];
    rest.remove_prefix(1);
  }
  return true;
}

/// A TOML number without its underscores and its plus sign; "" if `token` is none. Infinities and
/// NaN are numbers here; the options refuse them.
std::string number(std::string_view token) {
  std::string out;
  if (token.starts_with('-')) out = "-";
  if (token.starts_with('-') || token.starts_with('+')) token.remove_prefix(1);
  if (token == "inf" || token == "nan") return out + std::string(token);
  const std::size_t sign = out.size();
  if (!take_digits(token, out)) return "";
  if (out[sign] == '0' && out.size() > sign + 1) return "";
  if (token.starts_with('.')) {
    out += '.';
    token.remove_prefix(1);
    if (!take_digits(token, out)) return "";
  }
  if (token.starts_with('e') || token.starts_with('E')) {
    out += 'e';
    token.remove_prefix(1);
    if (token.starts_with('-')) out += '-';
    if (token.starts_with('-') || token.starts_with('+')) token.remove_prefix(1);
    if (!take_digits(token, out)) return "";
  }
  return token.empty() ? out : "";
}

std::string utf8(std::uint32_t code) {
  const auto byte = [](std::uint32_t value) { return static_cast<char>(value); };
  const auto tail = [&](int shift) { return byte(0x80 | ((code >> shift) & 0x3f)); };
  if (code < 0x80) return {byte(code)};
  if (code < 0x800) return {byte(0xc0 | (code >> 6)), tail(0)};
  if (code < 0x10000) return {byte(0xe0 | (code >> 12)), tail(6), tail(0)};
  return {byte(0xf0 | (code >> 18)), tail(12), tail(6), tail(0)};
}

/// UTF-8 without control characters; whatever else is in a text, it is no TOML.
void require_plain(std::string_view text) {
  std::size_t line = 1;
  while (!text.empty()) {
    const std::size_t length = report::utf8_length(text);
    if (length == 0)
      throw TomlError(
          line, fmt::format("expected text in UTF-8, got {}", report::quote(text.substr(0, 1))));
    const char c = text[0];
    const bool line_end = c == '\n' || text.starts_with("\r\n");
    if (c == '\x7f' || (static_cast<unsigned char>(c) < 0x20 && !line_end && c != '\t'))
      throw TomlError(line, fmt::format("expected no control characters, got {}",
                                        report::quote(text.substr(0, 1))));
    line += c == '\n';
    text.remove_prefix(length);
  }
}

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  std::vector<TomlTable> run() {
    tables_.emplace_back();
    for (skip_lines(); at_ < text_.size(); skip_lines()) {
      if (peek() == '[') take_table();
      else take_entry();
      skip_rest();
      if (at_ < text_.size() && peek() != '\n') fail("expected the end of the line");
    }
    return std::move(tables_);
  }

 private:
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  [[noreturn]] void fail(const std::string& rule) const {
    const std::string_view rest = text_.substr(at_, text_.find('\n', at_) - at_);
    const std::string got = at_ >= text_.size() ? "the end of the file"
                            : rest.empty()      ? "the end of the line"
                                                : report::quote(rest, 24);
    throw TomlError(line_, fmt::format("{}{}, got {}", context_, rule, got));
  }

  void skip_blanks() {
    while (is_blank(peek())) ++at_;
  }
  /// Blanks and a comment.
  void skip_rest() {
    skip_blanks();
    if (peek() == '#') at_ = std::min(text_.find('\n', at_), text_.size());
  }
  void skip_lines() {
    context_.clear();
    skip_line_ends();
  }
  void skip_line_ends() {
    for (skip_rest(); peek() == '\n'; skip_rest()) {
      ++at_;
      ++line_;
    }
  }

  std::string take_key() {
    const std::size_t begin = at_;
    while (is_bare(peek())) ++at_;
    if (at_ > begin) return std::string(text_.substr(begin, at_ - begin));
    if (peek() == '{') fail("expected 'key = value' as in TOML");
    fail("expected a name of letters, digits, '-' and '_'");
  }

  void take_table() {
    TomlTable table{"", line_, {}};
    ++at_;
    skip_blanks();
    table.name = take_key();
    skip_blanks();
    if (peek() != ']') fail(fmt::format("[{}: expected ']' (tables have one level)", table.name));
    ++at_;
    tables_.push_back(std::move(table));
  }

  void take_entry() {
    TomlEntry entry;
    entry.line = line_;
    entry.key = take_key();
    context_ = report::printable(entry.key) + ": ";
    skip_blanks();
    if (peek() == '.') fail("expected '=' (for keys of a command write a [table])");
    if (peek() != '=') fail("expected '='");
    ++at_;
    skip_blanks();
    if (peek() == '[') take_list(entry);
    else take_scalar(entry);
    tables_.back().entries.push_back(std::move(entry));
  }

  void take_list(TomlEntry& list) {
    list.kind = TomlEntry::Kind::list;
    ++at_;
    for (bool first = true;; first = false) {
      skip_line_ends();
      if (peek() == ']') break;
      TomlEntry item;
      take_scalar(item);
      if (item.value.find(',') != std::string::npos)
        throw TomlError(line_, fmt::format("{}expected list items without a comma, got {}",
                                           context_, report::quote(item.value)));
      list.value += (first ? "" : ",") + item.value;
      skip_line_ends();
      if (peek() == ']') break;
      if (peek() != ',') fail("expected ',' or ']'");
      ++at_;
    }
    ++at_;
  }

  void take_scalar(TomlEntry& entry) {
    if (peek() == '"' || peek() == '\'') {
      entry.value = take_string();
      return;
    }
    const std::size_t end = std::min(text_.find_first_of(" \t\r\n,]#", at_), text_.size());
    const std::string_view token = text_.substr(at_, end - at_);
    const bool truth = token == "true" || token == "false";
    entry.kind = truth ? TomlEntry::Kind::boolean : TomlEntry::Kind::number;
    entry.value = truth ? std::string(token) : number(token);
    if (entry.value.empty())
      fail("expected a decimal number, a text in quotes, true, false or a list");
    at_ = end;
  }

  std::string take_string() {
    const char mark = peek();
    const std::size_t begin = at_;
    if (text_.substr(at_, 3) == std::string(3, mark)) fail("expected a text of one line");
    std::string out;
    for (++at_; peek() != mark; ++at_) {
      if (peek() == '\n' || at_ >= text_.size()) {
        at_ = begin;
        fail(fmt::format("expected a closing {}", mark));
      }
      if (peek() == '\\' && mark == '"') out += take_escape();
      else out += peek();
    }
    ++at_;
    return out;
  }

  /// Of "\n", "\u00e9" and so on; stays at its last character.
  std::string take_escape() {
    constexpr std::string_view kNames = "btnfr\"\\", kMeanings = "\b\t\n\f\r\"\\";
    const char name = at_ + 1 < text_.size() ? text_[at_ + 1] : '\0';
    const std::size_t i = name == '\0' ? kNames.npos : kNames.find(name);
    if (i != kNames.npos) {
      ++at_;
      return {kMeanings[i]};
    }
    const std::size_t digits = name == 'u' ? 4 : name == 'U' ? 8 : 0;
    const std::string_view hex = text_.substr(std::min(at_ + 2, text_.size()), digits);
    std::uint32_t code = 0;
    const auto [end, error] = std::from_chars(hex.data(), hex.data() + hex.size(), code, 16);
    const bool whole = error == std::errc() && end == hex.data() + digits && hex.size() == digits;
    if (digits == 0 || !whole || code == 0 || code > 0x10ffff || (code >> 11) == 0x1b)
      fail("expected an escape of TOML (\\\\ for a backslash)");
    at_ += 1 + digits;
    return utf8(code);
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t line_ = 1;
  std::string context_;  // "rows: " while its value is read
  std::vector<TomlTable> tables_;
};

}  // namespace

std::vector<TomlTable> parse_toml(std::string_view text) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);  // the mark of some editors
  require_plain(text);
  return Reader(text).run();
}

}  // namespace experiments::cli
