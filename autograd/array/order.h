#pragma once

#include "autograd/array/array.h"

namespace autograd {

enum class Descending : bool { no, yes };

/// Positions (i64) along an axis of the first k elements in ascending or descending order. NaN
/// counts as the largest, as in PyTorch, and equal elements keep their order, in both directions.
Array order(const Array& a, int axis, Index k, Descending descending);

}  // namespace autograd
