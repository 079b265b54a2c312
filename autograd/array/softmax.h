#pragma once

#include "autograd/array/array.h"

namespace autograd {

/// exp(x - max) / sum(exp(x - max)) along an axis. An element of -inf becomes exactly 0; a row of
/// nothing but -inf, or one with +inf or NaN, becomes NaN throughout.
Array softmax(const Array& x, int axis);
/// x - max - log(sum(exp(x - max))).
Array log_softmax(const Array& x, int axis);
/// Softmax over the elements whose mask (b8, the shape of x) is true, exactly 0 elsewhere; a row
/// without any is all 0.
Array masked_softmax(const Array& x, const Array& mask, int axis);

}  // namespace autograd
