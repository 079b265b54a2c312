#pragma once

#include "autograd/array/array.h"

namespace autograd {

/// Running sums along an axis, of floats in double; i64 wraps around, and b8 counts in i64.
Array cumsum(const Array& a, int axis);
/// The same from the end: y_i = x_i + x_(i + 1) + ...
Array reverse_cumsum(const Array& a, int axis);

}  // namespace autograd
