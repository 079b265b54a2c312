#pragma once

#include <string>

#include "experiments/train/generate.h"
#include "experiments/train/source.h"

namespace experiments {

/// `count` characters that the model writes after a new line, or after its first token where the
/// vocabulary has none.
std::string sample_text(nn::GPT& model, const std::vector<std::string>& vocabulary, Index count,
                        autograd::RandomKey key);

/// Examples of a task, a line each: what was given, what was wanted, what came.
std::string sample_task(nn::GPT& model, const std::vector<std::string>& vocabulary,
                        const Batch& batch);

}  // namespace experiments
