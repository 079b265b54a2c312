#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "experiments/measure/statistics.h"

namespace experiments::softmax {

using autograd::Index;

/// What independent rows of s = a |q| z, z ~ N(0,1)^T, q ~ N(0, I_d), give.
struct Reference {
  measure::Estimate jacobian, entropy, p_max;
};
struct ReferenceSetting {
  Index d_k, seq_len, rows;
  std::uint64_t seed;
};
/// An independent Monte Carlo in plain loops, one result per factor, with none of the engine's ops
/// or random numbers (SplitMix64, the polar method, Marsaglia and Tsang's gamma).
std::vector<Reference> run_reference(const ReferenceSetting& setting,
                                     std::span<const double> factors);

}  // namespace experiments::softmax
