#pragma once

#include "autograd/tensor.h"
#include "experiments/cli/options.h"

namespace experiments::training {

using autograd::Index;

/// What one step of training looks at: y[b, t] is what comes after x[b, 0..t].
struct Batch {
  autograd::Tensor x, y;  // (B, T), i64
};

/// A target where there is nothing to predict; cross_entropy takes it as its ignore_index.
inline constexpr Index kIgnored = -1;

}  // namespace experiments::training
