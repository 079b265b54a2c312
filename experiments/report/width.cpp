#include <algorithm>
#include <array>
#include <cstdint>

#include "experiments/report/text.h"

// How wide characters are. Terminals differ in the details; these are the blocks that they agree
// on, from Unicode's EastAsianWidth.txt and the general categories Mn, Me and Cf.

namespace experiments::report {
namespace {

struct Range {
  std::uint32_t first, last;
};

constexpr std::array kZeroWidth{
    Range{0x0300, 0x036f}, Range{0x0483, 0x0489},  Range{0x0591, 0x05bd}, Range{0x0610, 0x061a},
    Range{0x064b, 0x065f}, Range{0x0e31, 0x0e31},  Range{0x0e34, 0x0e3a}, Range{0x0e47, 0x0e4e},
    Range{0x1ab0, 0x1aff}, Range{0x1dc0, 0x1dff},  Range{0x200b, 0x200f}, Range{0x202a, 0x202e},
    Range{0x2060, 0x206f}, Range{0x20d0, 0x20ff},  Range{0xfe00, 0xfe0f}, Range{0xfe20, 0xfe2f},
    Range{0xfeff, 0xfeff}, Range{0xe0000, 0xe01ef}};

constexpr std::array kWide{
    Range{0x1100, 0x115f},   Range{0x231a, 0x231b},   Range{0x23e9, 0x23ec},
    Range{0x2e80, 0x303e},   Range{0x3041, 0x4dbf},   Range{0x4e00, 0xa4cf},
    Range{0xa960, 0xa97f},   Range{0xac00, 0xd7a3},   Range{0xf900, 0xfaff},
    Range{0xfe30, 0xfe6f},   Range{0xff00, 0xff60},   Range{0xffe0, 0xffe6},
    Range{0x1f300, 0x1f64f}, Range{0x1f680, 0x1f6ff}, Range{0x1f900, 0x1faff},
    Range{0x20000, 0x3fffd}};

template <std::size_t N>
bool in(const std::array<Range, N>& ranges, std::uint32_t c) {
  return std::ranges::any_of(ranges, [c](Range r) { return r.first <= c && c <= r.last; });
}

/// The first character of `text`, a byte where it is none; removes it.
std::string_view take(std::string_view& text) {
  const std::string_view one = text.substr(0, std::max<std::size_t>(utf8_length(text), 1));
  text.remove_prefix(one.size());
  return one;
}

std::size_t width_of(std::string_view character) {
  if (character.size() == 1) return 1;
  std::uint32_t c = static_cast<unsigned char>(character[0]) & (0xffu >> (character.size() + 1));
  for (const char byte : character.substr(1))
    c = c << 6 | (static_cast<unsigned char>(byte) & 0x3fu);
  return in(kZeroWidth, c) ? 0 : in(kWide, c) ? 2 : 1;
}

}  // namespace

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  while (!text.empty()) width += width_of(take(text));
  return width;
}

std::vector<std::string> clusters(std::string_view text) {
  std::vector<std::string> pieces;
  while (!text.empty()) {
    const std::string_view one = take(text);
    if (width_of(one) == 0 && !pieces.empty()) pieces.back() += one;
    else pieces.emplace_back(one);
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

}  // namespace experiments::report
