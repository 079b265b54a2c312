#pragma once

#include "autograd/gradcheck/gradcheck.h"
#include "nn/module.h"

namespace nn {

/// autograd::gradcheck() of module(x): of every parameter, which messages call by its name, and of
/// x where it requires a gradient. All of them f64 (module.to(DType::f64)). The module has to give
/// the same for the same x, so dropout is off or in evaluation mode.
autograd::GradcheckReport gradcheck(Module& module, const Tensor& x,
                                    autograd::GradcheckOptions options = {});

}  // namespace nn
