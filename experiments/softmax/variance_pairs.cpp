#include "experiments/softmax/variance_pairs.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "autograd/array/matmul.h"
#include "autograd/array/random.h"
#include "autograd/machine/parallel.h"

namespace experiments::softmax {
namespace {

using autograd::Array;

constexpr Index kBatchesPerWave = 64;  // batches between two calls of progress
using Counts = std::array<std::int64_t, kBins>;

std::size_t bin_of(double z) {
  return static_cast<std::size_t>(std::clamp(std::floor(2 * z) + 9, 0.0, kBins - 1.0));
}

// One stream per batch and side: d has 17 bits, the batch 32.
Array normals(const PairSetting& setting, Index batch, std::uint64_t side) {
  const std::uint64_t stream = ((0x80 + side) << 56) |
                               (static_cast<std::uint64_t>(setting.d) << 32) |
                               static_cast<std::uint64_t>(batch);
  return autograd::normal({kSide, setting.d}, 0, 1, setting.dtype, {setting.seed, stream});
}

void run_batch(const PairSetting& setting, Index batch, PairScores& out, Counts& counts) {
  const Array scores = matmul(normals(setting, batch, 0), normals(setting, batch, 1),
                              autograd::Trans::no, autograd::Trans::yes)
                           .to(autograd::DType::f64);
  const double root = std::sqrt(static_cast<double>(setting.d));
  double sum = 0, squares = 0, fourths = 0;
  for (const double s : scores.read<double>()) {
    const double z = s / root;
    sum += z;
    squares += z * z;
    fourths += z * z * z * z;
    ++counts[bin_of(z)];
  }
  const auto at = static_cast<std::size_t>(batch);
  out.mean[at] = sum / kPairs;
  out.square[at] = squares / kPairs;
  out.fourth[at] = fourths / kPairs;
}

}  // namespace

double bin_edge(std::size_t bin) {
  if (bin == 0) return -std::numeric_limits<double>::infinity();
  return (static_cast<double>(bin) - 9) / 2;
}

double normal_share(std::size_t bin) {
  const auto below = [](double z) { return std::erfc(-z / std::sqrt(2.0)) / 2; };
  return (bin + 1 == kBins ? 1 : below(bin_edge(bin + 1))) - below(bin_edge(bin));
}

PairScores run_pairs(const PairSetting& setting, const std::function<void(double)>& progress) {
  const auto batches = static_cast<std::size_t>(setting.batches);
  PairScores out;
  for (auto* v : {&out.mean, &out.square, &out.fourth}) v->resize(batches);
  std::vector<Counts> counts(static_cast<std::size_t>(std::min(kBatchesPerWave, setting.batches)));
  for (Index wave = 0; wave < setting.batches; wave += kBatchesPerWave) {
    progress(static_cast<double>(wave) / static_cast<double>(setting.batches));
    autograd::parallel_for(
        std::min(kBatchesPerWave, setting.batches - wave), 1, [&](Index begin, Index end) {
          for (Index i = begin; i < end; ++i) {
            run_batch(setting, wave + i, out, counts[static_cast<std::size_t>(i)]);
          }
        });
  }
  out.bins.assign(kBins, 0);
  for (const Counts& part : counts) {
    for (std::size_t bin = 0; bin < kBins; ++bin) out.bins[bin] += part[bin];
  }
  return out;
}

measure::Estimate excess_kurtosis(std::span<const double> square, std::span<const double> fourth) {
  const auto n = static_cast<double>(square.size());
  const double squares = std::accumulate(square.begin(), square.end(), 0.0),
               fourths = std::accumulate(fourth.begin(), fourth.end(), 0.0);
  std::vector<double> without;  // each batch in turn
  for (std::size_t i = 0; i < square.size(); ++i) {
    const double m2 = (squares - square[i]) / (n - 1), m4 = (fourths - fourth[i]) / (n - 1);
    without.push_back(m4 / (m2 * m2) - 3);
  }
  const measure::Estimate parts = measure::grouped_mean(without, 1);
  const double whole = n * fourths / (squares * squares) - 3;
  return {n * whole - (n - 1) * parts.mean, (n - 1) * parts.error, parts.groups};
}

}  // namespace experiments::softmax
