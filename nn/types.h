#pragma once

#include "autograd/ops.h"

// What all of nn shares: the engine's names, and the words that stand where a bool would be read
// without its meaning.

namespace nn {

using autograd::DType;
using autograd::Generator;
using autograd::Index;
using autograd::Shape;
using autograd::Tensor;

enum class Bias : bool { no, yes };

}  // namespace nn
