#pragma once

#include <span>
#include <string>
#include <vector>

#include "experiments/report/sparkline.h"

namespace experiments::report {

/// One bar of a horizontal histogram, and the value of a curve there; both at least 0.
struct Bar {
  std::string label;
  double value;
  double curve;
};

/// One line per bar: label, bar, percentages of value and curve. The largest of both is `width`
/// columns long; a stroke crosses each bar where the curve is.
std::vector<std::string> histogram(std::span<const Bar> bars, std::size_t width, Glyphs glyphs);

}  // namespace experiments::report
