#include "experiments/softmax/scaling_trials.h"

#include <cmath>

#include "autograd/array/matmul.h"
#include "autograd/machine/parallel.h"
#include "autograd/ops.h"
#include "experiments/softmax/scaling_rows.h"
#include "nn/attention.h"

namespace experiments::softmax {
namespace {

using autograd::Tensor;
using autograd::Trans;

constexpr double kChunkBytes = 1e6;   // about half a core's L2 cache
constexpr Index kChunksPerWave = 32;  // chunks between two calls of progress

Tensor leaf(const Tensor& values) {
  Tensor t(values.data());  // shares the numbers, not the gradient
  return t.requires_grad_();
}

Pass run_pass(const Trials& trials, const nn::Scale& scale) {
  Pass pass;
  const Tensor q = leaf(trials.q), k = leaf(trials.k), v = leaf(trials.v);
  const nn::AttentionTrace trace;
  const Tensor out = nn::attention(q, k, v, {.scale = scale});
  pass.trace = trace[0];
  (out * trials.g).sum().backward();
  pass.step = autograd::matmul(q.grad().data(), k.data(), Trans::no, Trans::yes);
  return pass;
}

// Elements that one trial keeps alive at the peak of its pass, and while it is drawn.
double trial_elements(const Setting& setting) {
  const auto m = static_cast<double>(setting.queries()), T = static_cast<double>(setting.seq_len),
             d = static_cast<double>(setting.d_k), C = static_cast<double>(setting.channels());
  const double inputs = 2 * (m + T) * d;
  // Inputs and their gradients, K^T and its gradient, the output and its two gradients, and nine
  // m x T matrices from the scores to their gradients.
  const double pass = 2 * inputs + 2 * T * d + 4 * m * d + 9 * m * T;
  if (setting.init == nn::Init::unit) return pass;
  return std::max(pass, inputs + (T + m) * C + 2 * C * d);  // W once as it is drawn, once stacked
}

}  // namespace

Samples::Samples(const Setting& setting) {
  const auto rows = static_cast<std::size_t>(setting.rows());
  const auto trials = static_cast<std::size_t>(setting.trials);
  for (auto* v : {&entropy, &p_max, &jacobian, &trace, &gain, &ds, &dq, &trace_by_parts, &step}) {
    v->resize(rows);
  }
  for (auto* v : {&dk, &dv}) v->resize(trials * static_cast<std::size_t>(setting.seq_len));
  for (auto* v : {&score_min, &score_max, &score_mean, &score_square}) v->resize(trials);
}

std::vector<Samples> run_trials(const Setting& setting, std::span<const nn::Scale> scales,
                                Index chunk, const std::function<void(double)>& progress) {
  std::vector<Samples> samples;
  samples.reserve(scales.size());
  for (std::size_t i = 0; i < scales.size(); ++i) samples.emplace_back(setting);
  const auto run_chunk = [&](Index first) {
    const Trials trials = draw_trials(setting, first, std::min(chunk, setting.trials - first));
    for (std::size_t i = 0; i < scales.size(); ++i) {
      measure(run_pass(trials, scales[i]), scales[i].factor(setting.d_k), first, samples[i]);
    }
  };
  // A thread takes whole chunks, and the engine runs serially inside: its arrays stay in that
  // core's cache, and threads meet once a wave rather than twice an op.
  const Index chunks = (setting.trials + chunk - 1) / chunk;
  for (Index wave = 0; wave < chunks; wave += kChunksPerWave) {
    progress(static_cast<double>(wave) / static_cast<double>(chunks));
    autograd::parallel_for(std::min(kChunksPerWave, chunks - wave), 1, [&](Index begin, Index end) {
      for (Index i = begin; i < end; ++i) run_chunk((wave + i) * chunk);
    });
  }
  return samples;
}

Index chunk_of(const Setting& setting) {
  const double bytes = trial_elements(setting) * static_cast<double>(item_size(setting.dtype));
  return std::clamp<Index>(static_cast<Index>(kChunkBytes / bytes), 1, setting.trials);
}

double bytes_of(const Setting& setting, std::size_t scales, int threads) {
  const auto rows = static_cast<double>(setting.rows()),
             trials = static_cast<double>(setting.trials),
             keys = trials * static_cast<double>(setting.seq_len);
  const double samples = static_cast<double>(scales) * (9 * rows + 2 * keys + 4 * trials);
  const double scratch = std::max(rows, keys);  // of a quantile
  const auto chunk = static_cast<double>(chunk_of(setting));
  const double at_once = std::min(static_cast<double>(threads), std::ceil(trials / chunk));
  return 8 * (samples + scratch) +
         at_once * chunk * trial_elements(setting) * static_cast<double>(item_size(setting.dtype));
}

}  // namespace experiments::softmax
