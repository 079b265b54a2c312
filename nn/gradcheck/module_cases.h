#pragma once

#include <span>

#include "autograd/gradcheck/battery.h"

namespace nn {

/// The gradcheck table of the layers, one line or more each: the inputs of a trial are x and every
/// parameter. Names are those of the layers in snake case, with a suffix where one has several
/// forms ("linear_bias", "multi_head_attention_train").
std::span<const autograd::GradcheckCase> module_cases();

}  // namespace nn
