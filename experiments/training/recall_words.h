#pragma once

#include <span>
#include <string>
#include <vector>

#include "experiments/training/recall_run.h"

namespace experiments::training {

/// What runs of equal settings but for d_k, scale and seed came to, in sentences: the set-up, a
/// line for each d_k, and none against sqrt_dk where there are both. At least one run.
std::vector<std::string> recall_words(std::span<const RecallRun> runs);

/// The middle one of the steps to kLearnt, the later one of two; infinite where that run never
/// learnt.
double median_steps(std::span<const RecallRun* const> runs);

}  // namespace experiments::training
