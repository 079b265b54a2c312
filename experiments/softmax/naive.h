#pragma once

#include <span>

#include "autograd/array/array.h"

// Two lines of the lesson, as printed.

namespace experiments::softmax {

/// np.exp(scores) / np.exp(scores).sum(axis=-1, keepdims=True), in the dtype of the scores: nothing
/// is subtracted first, so exp overflows from 88.72 (f32) or 709.78 (f64) on.
autograd::Array naive_softmax(const autograd::Array& scores);

/// -(p * np.log(p + 1e-10)).sum(), in nats.
double printed_entropy(std::span<const double> p);

}  // namespace experiments::softmax
