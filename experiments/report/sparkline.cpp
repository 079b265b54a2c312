#include "experiments/report/sparkline.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace experiments::report {

std::string sparkline(std::span<const double> values, double low, double high, Glyphs glyphs) {
  static constexpr std::array kBlocks{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  static constexpr std::array kLetters{"_", ".", ":", "-", "=", "+", "*", "#"};
  const auto& heights = glyphs == Glyphs::unicode ? kBlocks : kLetters;
  const double range = std::log(high / low);
  std::string line;
  for (const double v : values) {
    if (!(v > 0) || !std::isfinite(v)) {
      line += ' ';
      continue;
    }
    const double share = range > 0 ? std::log(v / low) / range : 0.5;
    line += heights[static_cast<std::size_t>(std::clamp(std::floor(share * 8), 0.0, 7.0))];
  }
  return line;
}

}  // namespace experiments::report
