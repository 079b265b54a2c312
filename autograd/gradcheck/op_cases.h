#pragma once

#include <span>

#include "autograd/gradcheck/battery.h"

namespace autograd {

/// The gradcheck table: at least one line for every op of ops.h, in the order of that file. Names
/// are those of the ops, with a suffix where an op has several forms ("gelu_erf", "matmul_1d").
std::span<const GradcheckCase> op_cases();

}  // namespace autograd
