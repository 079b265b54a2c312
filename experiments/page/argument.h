#pragma once

#include <string>
#include <vector>

#include "experiments/softmax/scaling_checks.h"

// What the factor of the scores does at one head size, measured as `gradlab scaling` measures it,
// with theory beside it.

namespace experiments::page {

using autograd::Index;

struct ArgumentRequest {
  Index d_k = 64, seq_len = 16;
  Index rows = 4000;  // queries, at least
  Index sizes = 1;    // of the sweep that this one is part of: for tolerances
  std::vector<std::string> scales = {"none", "sqrt_dk"};
  std::string init = "unit";
  std::uint64_t seed = 0;
};

/// Closed forms for normal scores of standard deviation sigma; see measure/theory.h.
struct Theory {
  double entropy_small, jacobian_small;                // sigma -> 0
  double entropy_large, jacobian_large, median_large;  // sigma -> infinity
};

struct Measured {
  softmax::Cell cell;
  Theory theory;
  std::vector<report::Check> checks;
};

/// One result for each scale, all on the same numbers. ValueError for a scale that is none.
std::vector<Measured> measure_argument(const ArgumentRequest& request);

/// Of one draw of the experiment: the scores of `trials` trials, (n, queries, T) flat, and the
/// first row of weights.
struct Scores {
  double sigma;  // the standard deviation that theory expects
  std::vector<double> values, first_weights;
};
Scores scores_of(const ArgumentRequest& request, const std::string& scale, Index trials);

}  // namespace experiments::page
