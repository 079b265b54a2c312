#pragma once

#include <span>
#include <vector>

#include "autograd/gradcheck/battery.h"

namespace autograd {

/// The gradcheck table: at least one line for every op of ops.h, in the order of that file. Names
/// are those of the ops, with a suffix where an op has several forms ("gelu_erf", "matmul_1d").
std::span<const GradcheckCase> op_cases();

namespace detail {  // its parts, a file each
std::vector<GradcheckCase> elementwise_cases();
std::vector<GradcheckCase> reduction_cases();
std::vector<GradcheckCase> product_cases();
std::vector<GradcheckCase> row_cases();  // softmax, dropout, attention, normalisation, losses
std::vector<GradcheckCase> layout_cases();
std::vector<GradcheckCase> index_cases();  // by index, order, windows
}  // namespace detail

}  // namespace autograd
