#pragma once

#include <functional>
#include <span>
#include <vector>

#include "experiments/softmax/scaling_inputs.h"
#include "nn/scale.h"

// The trials of the scaling experiment. One trial is fresh K, V (T x d) and min(T, 16) queries; one
// row is one query of it. L = sum(softmax(a Q K^T) V * G) with G ~ N(0,1) / sqrt(d), so that, for
// V ~ N(0,1), every entry of dP = G V^T is N(0,1) whatever d is.

namespace experiments::softmax {

/// What is measured in all trials under one scale.
struct Samples {
  explicit Samples(const Setting& setting);

  // one value per row
  std::vector<double> entropy, p_max, jacobian, trace, gain, ds, dq;
  std::vector<double> trace_by_parts;  // sum_i x_i p_i / (a |q|): the same mean as the trace's
  std::vector<double> step;            // |a^2 K K^T dS|: logits moved by one unit-rate step on q
  // one value per key
  std::vector<double> dk, dv;
  // one value per trial
  std::vector<double> score_min, score_max, score_mean, score_square;
};

/// Runs the trials forward and backward, all scales on the same numbers. progress gets the share of
/// trials done. chunk: how many trials at once; changes nothing but speed and memory.
std::vector<Samples> run_trials(const Setting& setting, std::span<const nn::Scale> scales,
                                Index chunk, const std::function<void(double)>& progress);

/// How many trials at once keep the working set at about 1 MB; at least one, at most all.
Index chunk_of(const Setting& setting);
/// Peak memory of run_trials and of the summaries after it.
double bytes_of(const Setting& setting, std::size_t scales, int threads);

/// Of one row of scores and of its softmax. |J|_F takes one pass without cancellation, 1 - p_max is
/// the sum of the others; entropy in nats.
struct RowStats {
  double entropy, p_max, jacobian, trace;
};
template <class T>
RowStats row_stats(std::span<const T> scores, std::span<const T> weights);

}  // namespace experiments::softmax
