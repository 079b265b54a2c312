#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "experiments/cli/options.h"

// What splitting C channels into H heads costs, and how much the heads differ.

namespace experiments::attention {

using autograd::Index;

std::vector<Index> divisors(Index n);  // ascending

/// Floating-point operations of one layer on T positions, counting a multiply-add as two.
struct Flops {
  std::int64_t projections;  // x W for q, k, v and the output: 4 of 2 T C^2, so 8 T C^2
  std::int64_t products;     // Q K^T and P V: H heads of 2 T T D each, twice, so 4 T^2 C
  std::int64_t softmax;  // 6 per score (scale, maximum, difference, exp, sum, quotient): 6 H T^2

  std::int64_t total() const { return projections + products + softmax; }
};
Flops flops_of(Index T, Index n_embd, Index n_head);

/// How far apart the attention maps of two heads are, averaged over rows and pairs of heads: the
/// total variation, half of sum_j |p_j - p'_j|, between 0 (equal) and 1 (no key in common).
/// `weights` is (H, T, T); 0 for one head.
double map_distance(std::span<const double> weights, Index heads, Index T);

}  // namespace experiments::attention
