#pragma once

#include "experiments/softmax/scaling_trials.h"
#include "nn/attention.h"

namespace experiments::softmax {

using autograd::Index;

/// Some trials after forward and backward: values and gradients of q, k, v, scores and weights; and
/// K dQ, how far a step along dQ moves the logits before their factor.
struct Pass {
  nn::TracedAttention trace;
  autograd::Array step;
};

/// |dS| over |dP - mean dP| of a row: how much of the gradient that can come through does; 0 where
/// none can.
template <class T>
double gain(std::span<const T> ds, std::span<const T> dp);

/// Reads rows, keys and trials of a pass into `out`, the first of them as trial `first`. a is the
/// factor of the scores.
void measure(const Pass& pass, double a, Index first, Samples& out);

}  // namespace experiments::softmax
