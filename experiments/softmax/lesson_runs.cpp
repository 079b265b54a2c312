#include "experiments/softmax/lesson_runs.h"

#include <algorithm>
#include <cmath>

#include "autograd/array/elementwise.h"
#include "autograd/array/matmul.h"
#include "autograd/array/softmax.h"
#include "autograd/machine/parallel.h"
#include "experiments/softmax/naive.h"

namespace experiments::softmax {
namespace {

using autograd::Array;
using Values = std::span<const double>;

constexpr Index kChunk = 8;          // runs that one thread does at a time
constexpr Index kRunsPerWave = 512;  // runs between two calls of progress

// Reads one run: T x T scores, the weights as printed and ours.
void measure_run(Values scores, Values naive, Values ours, std::size_t run, CodeRuns& out) {
  constexpr auto T = static_cast<std::size_t>(kTokens);
  const auto [low, high] = std::minmax_element(scores.begin(), scores.end());
  double squares = 0;
  for (const double s : scores) squares += s * s;
  out.score_min[run] = *low;
  out.score_max[run] = *high;
  out.score_square[run] = squares / static_cast<double>(scores.size());
  out.printed_entropy[run] = printed_entropy(naive.first(T));
  for (std::size_t i = 0; i < T; ++i) {
    const Values p = ours.subspan(i * T, T);
    const RowStats stats = row_stats(scores.subspan(i * T, T), p);
    const std::size_t top =
        static_cast<std::size_t>(std::max_element(p.begin(), p.end()) - p.begin());
    double rest = 0;  // 1 - p without cancellation
    for (std::size_t j = 0; j < T; ++j) rest += j == top ? 0 : p[j];
    out.entropy[run * T + i] = stats.entropy;
    out.p_max[run * T + i] = stats.p_max;
    out.winner[run * T + i] = p[top] * rest;
  }
}

void measure_chunk(const Array& scores, Index first, CodeRuns& out) {
  const Array naive = naive_softmax(scores), ours = autograd::softmax(scores, /*axis=*/2);
  constexpr auto size = static_cast<std::size_t>(kTokens * kTokens);
  for (std::size_t n = 0; n < static_cast<std::size_t>(scores.shape()[0]); ++n) {
    const auto part = [&](const Array& a) { return a.read<double>().subspan(n * size, size); };
    measure_run(part(scores), part(naive), part(ours), static_cast<std::size_t>(first) + n, out);
  }
}

}  // namespace

Array printed_scores(const Trials& trials, const nn::Scale& scale) {
  const Array scores =
      matmul(trials.q.data(), trials.k.data(), autograd::Trans::no, autograd::Trans::yes);
  return scores * scale.factor(trials.q.size(-1));
}

CodeRuns::CodeRuns(const Setting& setting) {
  for (auto* v : {&score_min, &score_max, &score_square, &printed_entropy}) {
    v->resize(static_cast<std::size_t>(setting.trials));
  }
  for (auto* v : {&entropy, &p_max, &winner}) v->resize(static_cast<std::size_t>(setting.rows()));
}

double CodeRuns::score_std() const { return std::sqrt(measure::mean(score_square)); }

double CodeRuns::nan_share() const {
  const auto nans = std::count_if(printed_entropy.begin(), printed_entropy.end(),
                                  [](double h) { return std::isnan(h); });
  return static_cast<double>(nans) / static_cast<double>(printed_entropy.size());
}

measure::Estimate share_above(Values values, double limit, Index group) {
  std::vector<double> above;
  for (const double v : values) above.push_back(v > limit ? 1 : 0);
  return measure::grouped_mean(above, group);
}

std::vector<CodeRuns> run_code(const Setting& setting, std::span<const nn::Scale> scales,
                               const std::function<void(double)>& progress) {
  std::vector<CodeRuns> runs(scales.size(), CodeRuns(setting));
  const auto run_chunk = [&](Index first, Index end) {
    const Trials trials = draw_trials(setting, first, end - first);
    for (std::size_t i = 0; i < scales.size(); ++i) {
      measure_chunk(printed_scores(trials, scales[i]), first, runs[i]);
    }
  };
  for (Index wave = 0; wave < setting.trials; wave += kRunsPerWave) {
    progress(static_cast<double>(wave) / static_cast<double>(setting.trials));
    autograd::parallel_for(std::min(kRunsPerWave, setting.trials - wave), kChunk,
                           [&](Index begin, Index end) { run_chunk(wave + begin, wave + end); });
  }
  return runs;
}

}  // namespace experiments::softmax
