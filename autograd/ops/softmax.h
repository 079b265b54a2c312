#pragma once

#include "autograd/array/array.h"

namespace autograd {

/// The gradient of x from the gradient g of y = softmax(x); what masked_softmax shares.
Array softmax_backward(const Array& y, const Array& g, int axis);

}  // namespace autograd
