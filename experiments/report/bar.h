#pragma once

#include <cstddef>
#include <string>

#include "experiments/report/sparkline.h"

namespace experiments::report {

/// A horizontal bar, `share` in [0, 1] of `width` columns long, drawn to an eighth of a column, or
/// to a whole one in ASCII. Empty if the share is not finite.
std::string bar(double share, std::size_t width, Glyphs glyphs);

}  // namespace experiments::report
