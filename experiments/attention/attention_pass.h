#pragma once

#include <span>
#include <string>
#include <vector>

#include "experiments/attention/layer.h"
#include "experiments/report/report.h"

namespace experiments::attention {

enum class Gradients : bool { no, yes };

/// What one pass of a layer over T tokens computed on the way, head by head.
struct AttentionPass {
  Index heads = 0, tokens = 0, head_size = 0;
  double factor = 1;                                  // of the scores: s = factor q.k
  std::vector<double> q, k, v;                        // (H, T, D)
  std::vector<double> scores, weights;                // (H, T, T)
  std::vector<double> d_scores = {}, d_weights = {};  // their gradients; empty if not asked for

  /// One head of `all`, which is one of the members above.
  std::span<const double> head(const std::vector<double>& all, Index h) const {
    const std::size_t each = all.size() / static_cast<std::size_t>(heads);
    return std::span(all).subspan(static_cast<std::size_t>(h) * each, each);
  }
};

/// x is (T, C). The gradients are those of sum(y * g), with y the output and g ~ N(0,1).
AttentionPass pass_of(const nn::MultiHeadAttentionOptions& config, const autograd::Tensor& x,
                      Gradients gradients, const Run& run);

/// Checks the pass against its definitions, in plain loops.
std::vector<Check> checks_of(const AttentionPass& pass, autograd::DType dtype);

/// Mean over the rows of a (T, T) map of -sum p ln p, divided by ln T; 0 for T = 1.
double normalised_entropy(std::span<const double> weights, Index tokens);

}  // namespace experiments::attention
