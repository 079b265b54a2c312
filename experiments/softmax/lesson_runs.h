#pragma once

#include <functional>
#include <span>
#include <vector>

#include "autograd/array/array.h"
#include "experiments/measure/statistics.h"
#include "experiments/softmax/scaling_trials.h"
#include "nn/scale.h"

// Steps 1 and 2 of the lesson, run many times. One run is one trial of the scaling experiment:
// T = 4 tokens x ~ N(0,1) (T x D), Q = x W_q and K = x W_k with W ~ N(0,1) (D x D) under
// Init::lesson, or Q, K ~ N(0,1) themselves under Init::unit.

namespace experiments::softmax {

using autograd::Index;

inline constexpr Index kTokens = 4;  // T

/// scores = Q @ K.T / sqrt(D), or without the division under Scale::none(). (n, T, T)
autograd::Array printed_scores(const Trials& trials, const nn::Scale& scale);

/// What the runs of one initialisation under one scale gave.
struct CodeRuns {
  explicit CodeRuns(const Setting& setting);

  // one value per run
  std::vector<double> score_min, score_max;
  std::vector<double> score_square;     // the mean over the run's T x T scores
  std::vector<double> printed_entropy;  // of row 0, by the printed softmax: NaN where it prints nan
  // one value per row, by the shifted softmax
  std::vector<double> entropy;  // nats
  std::vector<double> p_max;
  std::vector<double> winner;  // p (1 - p) of the largest p: its derivative by its own score

  double score_std() const;  // about 0, which is the mean
  double nan_share() const;  // of the runs
};

/// The share of the values above the limit; consecutive groups of `group` are independent.
measure::Estimate share_above(std::span<const double> values, double limit, Index group);

/// One CodeRuns per scale, all on the same numbers. progress gets the share of runs done.
std::vector<CodeRuns> run_code(const Setting& setting, std::span<const nn::Scale> scales,
                               const std::function<void(double)>& progress);

}  // namespace experiments::softmax
