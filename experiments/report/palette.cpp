#include "experiments/report/palette.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

namespace experiments::report {
namespace {

// Equal steps of lightness in OKLab (.24 to .93 and .22 to .92), so that equal differences of the
// values look equal; the hue turns from 295 to 105 degrees, 35 to 85, and 265 to 215.
constexpr std::array kSequential{Rgb{37, 15, 72},   Rgb{30, 40, 120},   Rgb{2, 78, 130},
                                 Rgb{3, 110, 138},  Rgb{6, 141, 147},   Rgb{5, 174, 147},
                                 Rgb{69, 206, 122}, Rgb{174, 223, 111}, Rgb{245, 237, 129}};
constexpr std::array kPositive{Rgb{27, 27, 27}, Rgb{115, 47, 0}, Rgb{175, 97, 1}, Rgb{229, 155, 39},
                               Rgb{255, 225, 163}};
constexpr std::array kNegative{Rgb{27, 27, 27}, Rgb{13, 71, 127}, Rgb{4, 127, 187},
                               Rgb{3, 189, 243}, Rgb{183, 240, 254}};

int between(int a, int b, double share) {
  return static_cast<int>(std::lround(a + (b - a) * share));
}

Rgb interpolated(std::span<const Rgb> anchors, double share) {
  const double place = std::clamp(share, 0.0, 1.0) * static_cast<double>(anchors.size() - 1);
  const std::size_t i = std::min(static_cast<std::size_t>(place), anchors.size() - 2);
  const Rgb a = anchors[i], b = anchors[i + 1];
  const double rest = place - static_cast<double>(i);
  return {between(a.red, b.red, rest), between(a.green, b.green, rest),
          between(a.blue, b.blue, rest)};
}

}  // namespace

Rgb color_of(Hues hues, double share) {
  if (hues == Hues::sequential) return interpolated(kSequential, share);
  return share < 0 ? interpolated(kNegative, -share) : interpolated(kPositive, share);
}

std::string background(Rgb color) {
  return fmt::format("\x1b[48;2;{};{};{}m", color.red, color.green, color.blue);
}

}  // namespace experiments::report
