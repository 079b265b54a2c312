#include "experiments/report/bar.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace experiments::report {

std::string bar(double share, std::size_t width, Glyphs glyphs) {
  static constexpr std::array kEighths{"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  if (!std::isfinite(share)) return "";
  const double columns = std::clamp(share, 0.0, 1.0) * static_cast<double>(width);
  if (glyphs == Glyphs::ascii) return std::string(std::lround(columns), '#');
  const auto eighths = static_cast<std::size_t>(std::lround(columns * 8));
  std::string out;
  for (std::size_t i = 0; i < eighths / 8; ++i) out += "█";
  return out + kEighths[eighths % 8];
}

}  // namespace experiments::report
