#pragma once

#include <cstddef>
#include <string>

#include "experiments/report/sparkline.h"

namespace experiments::report {

/// A horizontal bar, `share` in [0, 1] of `width` columns long: in eighths of one, or whole ones in
/// ASCII. A share that is not finite has none.
std::string bar(double share, std::size_t width, Glyphs glyphs);

}  // namespace experiments::report
