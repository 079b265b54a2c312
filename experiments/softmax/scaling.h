#pragma once

#include <memory>

#include "experiments/experiment.h"

namespace experiments {

/// `gradlab scaling`: what the factor of softmax(a q K^T) does to scores, weights and gradients,
/// over a list of head sizes d_k and of scales, with every number held against what is known of it.
std::unique_ptr<Experiment> make_scaling();

}  // namespace experiments
