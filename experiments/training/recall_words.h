#pragma once

#include <span>
#include <string>
#include <vector>

#include "experiments/training/recall_run.h"

namespace experiments::training {

/// The results, in sentences, of runs that differ only in d_k, scale and seed: the set-up, a line
/// for each d_k, and none against sqrt_dk where there are both. At least one run.
std::vector<std::string> recall_words(std::span<const RecallRun> runs);

/// The median number of steps to kLearnt, the upper one of two; infinite if that run never
/// learnt.
double median_steps(std::span<const RecallRun* const> runs);

}  // namespace experiments::training
