#pragma once

#include "autograd/array/array.h"

namespace autograd {

// Functions of each element of a float array, so that the gradient rule of an op reads as the op
// does. DTypeError, in the name of the function, for other dtypes.
Array abs(const Array& x);
Array exp(const Array& x);
Array log(const Array& x);
Array sqrt(const Array& x);
Array sin(const Array& x);
Array cos(const Array& x);
Array tanh(const Array& x);
Array sigmoid(const Array& x);  // 1 / (1 + exp(-x))
Array sign(const Array& x);     // -1, 0 or 1, and NaN for NaN; a constant, also where x is dual

}  // namespace autograd
