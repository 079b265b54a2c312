#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "autograd/array/dtype.h"
#include "experiments/measure/statistics.h"

// Scores q.k of independent q, k ~ N(0, I_d). A batch is 32 queries against 32 keys: its 1,024
// scores are uncorrelated but not independent; batches are independent.

namespace experiments::softmax {

using autograd::Index;

inline constexpr Index kSide = 32, kPairs = kSide * kSide;

/// Bins of z = s / sqrt(d): half a unit wide from -4 to 4, and the two tails first and last.
inline constexpr std::size_t kBins = 18;
double bin_edge(std::size_t bin);      // the lower one; -inf of the first
double normal_share(std::size_t bin);  // of a normal z

struct PairSetting {
  Index d = 64;
  Index batches = 1024;
  std::uint64_t seed = 0;
  autograd::DType dtype = autograd::DType::f64;
};

/// Means over each batch of z, z^2 and z^4, and how often z fell into each bin.
struct PairScores {
  std::vector<double> mean, square, fourth;
  std::vector<std::int64_t> bins;
};
/// progress gets the share of batches done.
PairScores run_pairs(const PairSetting& setting, const std::function<void(double)>& progress);

/// E[z^4] / E[z^2]^2 - 3 of scores with mean 0, from batch means. Value and standard error by the
/// jackknife over batches: a ratio of heavy-tailed means has a bias and an error that no formula
/// for normal data gives.
measure::Estimate excess_kurtosis(std::span<const double> square, std::span<const double> fourth);

}  // namespace experiments::softmax
