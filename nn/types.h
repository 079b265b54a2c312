#pragma once

#include "autograd/ops.h"

// What all of nn shares: the engine's names, and the enums that say what a bool at a call
// would not.

namespace nn {

using autograd::DType;
using autograd::Generator;
using autograd::Index;
using autograd::Shape;
using autograd::Tensor;

enum class Bias : bool { no, yes };

/// Equal for two handles of one tensor, and for no others.
inline const void* identity(const Tensor& t) {
  return static_cast<const autograd::TensorRef&>(t).get();
}

}  // namespace nn
