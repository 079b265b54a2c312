#pragma once

#include <vector>

#include "experiments/attention/layer.h"

// How far the outputs of an attention layer move when one position of its input does.

namespace experiments::attention {

struct Nudge {
  Index position = 0;
  double delta = 1;  // added to every channel of the position
};

struct Moves {
  std::vector<double> size;    // |y_t| before
  std::vector<double> moved;   // |dy_t|
  std::vector<double> weight;  // from t to the position, mean over heads
  /// |dy_t / d delta| at delta = 0: by a small central difference, and by gradients, with one
  /// backward pass per position along the direction in which it moves.
  std::vector<double> slope, gradient;
  double slope_error =
      0;  // norm over all t of the central difference's error, estimated from twice the step
  /// w . dy / d delta for random w ~ N(0,1) over all of y, the same two ways.
  std::vector<double> probed, probed_gradient;
};

/// x is (T, C).
Moves moves_of(nn::MultiHeadAttention& layer, const autograd::Tensor& x, Nudge nudge, Index probes,
               const Run& run);

/// The step of the central difference: balances its error, O(step^2), against rounding.
double small_step(autograd::DType dtype);

}  // namespace experiments::attention
