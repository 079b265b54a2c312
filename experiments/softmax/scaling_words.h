#pragma once

#include <span>
#include <string>
#include <vector>

#include "experiments/measure/statistics.h"
#include "experiments/report/sparkline.h"
#include "experiments/softmax/scaling_checks.h"

// What the numbers of a scaling run say, in words. Nothing here is known beforehand: each clause is
// picked by comparing measured numbers.

namespace experiments::softmax {

using autograd::Index;

/// The cells of one scale, by rising d_k.
using Series = std::vector<Cell>;

/// A number in a sentence: "{:.3g}".
std::string num(double x);

/// Below this a gain is rounding: near saturation the winner's gradient is a difference of numbers
/// the size of dP.
double rounding_floor(autograd::DType dtype);

/// ln(median gain) against sqrt(d_k), over the sizes whose median is above rounding.
struct GainFit {
  measure::LineFit line;        // against sqrt(d_k)
  double power_r2 = 0;          // of the rival, ln(median gain) against ln(d_k)
  double range = 0;             // of sqrt(d_k)
  std::vector<Index> left_out;  // sizes
};
GainFit fit_gain(const Series& series);
/// "dies exponentially ...", "flat ...", and so on, with slope and interval.
std::string verdict(const GainFit& fit);

/// "none     ####=-:. 0.12 to 9.4e-05", all series on one logarithmic scale.
std::vector<std::string> sparklines(std::span<const Series> all, report::Glyphs glyphs);

/// A command worth running after this one, with its reason.
std::string next_command(std::span<const Series> all);

}  // namespace experiments::softmax
