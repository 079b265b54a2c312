#pragma once

#include <span>
#include <string>

namespace experiments::report {

enum class Glyphs { unicode, ascii };

/// One character per value, eight heights from `low` to `high` on a logarithmic scale. Values
/// outside are drawn at the edge; one that is not finite and positive is a blank.
std::string sparkline(std::span<const double> values, double low, double high, Glyphs glyphs);

}  // namespace experiments::report
