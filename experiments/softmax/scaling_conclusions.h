#pragma once

#include "experiments/softmax/scaling_words.h"

// The closing sentences of a scaling run.

namespace experiments::softmax {

/// What happens to the median row, and what to the mean gradient. `all` has one Series for each
/// scale, all at the same sizes.
std::vector<std::string> conclusions(std::span<const Series> all);
/// The figures behind them.
std::vector<std::string> finer_points(std::span<const Series> all);

}  // namespace experiments::softmax
