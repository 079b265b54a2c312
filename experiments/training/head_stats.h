#pragma once

#include <vector>

#include "autograd/tensor.h"
#include "nn/options.h"

namespace experiments::training {

/// How large logits may grow before training is known to diverge: above 1e3 warn, above 1e4 or not
/// finite alarm.
enum class LogitLevel { fine, warn, alarm };
LogitLevel level_of(double max_logit);
const char* name(LogitLevel level);  // "fine"

/// One attention head over all rows of a batch. A row is one query with the keys it sees, p its
/// softmax, J = diag(p) - p p^T. Means are over rows that see at least two keys, NaN where there
/// are none or a logit is not finite.
struct HeadStats {
  autograd::Index rows = 0;
  double logit_std = 0;  // of all logits seen, after the scale
  double max_logit = 0;  // the largest |logit|; infinite where one is not finite
  double entropy = 0;    // mean of H / ln(keys seen): 1 is uniform
  double p_max = 0;
  double dead_rows = 0;  // share with |J|_F < 1e-3
  double gain = 0;       // mean of |J u| / |u - mean u| for u ~ N(0, 1), the same u at every call
  LogitLevel level = LogitLevel::fine;
};

/// For each head of q (B, H, T, D) and k (B, H, S, D), as an AttentionTrace has them, with logits
/// scale q k^T; in f64, whatever the model's dtype. Draws from no generator. ShapeError otherwise.
std::vector<HeadStats> head_stats(const autograd::Tensor& q, const autograd::Tensor& k,
                                  double scale, nn::Causal causal);

}  // namespace experiments::training
