#pragma once

#include <string>
#include <vector>

#include "experiments/softmax/lesson_claims.h"

// The lesson's three listings as they run here, in lines for people.

namespace experiments::softmax {

/// Step 1: the naked attention at D = 8: scores and weights of the first run, as printed and ours.
std::vector<std::string> step_one(std::uint64_t seed);
/// Step 2: the same at D = 64, what it prints without and with the scale, and over all runs.
std::vector<std::string> step_two(const Findings& findings);
/// Step 3: what the listing around MultiHeadAttention prints and asserts.
std::vector<std::string> step_three(const Findings& findings, autograd::DType dtype);

}  // namespace experiments::softmax
