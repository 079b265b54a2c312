#pragma once

#include <span>

#include "nn/types.h"

namespace nn {

/// The L2 norm of all gradients of `parameters` together; where it is above max_norm, they are
/// multiplied by max_norm / (norm + 1e-6). A norm that is not finite is returned too, and then no
/// gradient changes. The squares are summed in double, in one order for any number of threads.
/// Parameters without a gradient do not count; each may be given once only. ValueError unless
/// max_norm is above 0; with infinity it only measures.
double clip_grad_norm(std::span<const Tensor> parameters, double max_norm);

}  // namespace nn
