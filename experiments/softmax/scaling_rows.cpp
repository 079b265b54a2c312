#include "experiments/softmax/scaling_rows.h"

#include <algorithm>
#include <cmath>

#include "autograd/machine/parallel.h"
#include "experiments/measure/values.h"

// What is measured of each row, from the engine's values and gradients.

namespace experiments::softmax {
namespace {

// |x - mean(x)|
template <class T>
double norm_about_mean(std::span<const T> x) {
  double mean = 0, squares = 0;
  for (const T v : x) mean += static_cast<double>(v);
  mean /= static_cast<double>(x.size());
  for (const T v : x) squares += (static_cast<double>(v) - mean) * (static_cast<double>(v) - mean);
  return std::sqrt(squares);
}

// One trial of a chunk, as the pass left it.
template <class T>
struct View {
  View(const Pass& pass, Index trial)
      : q(pass.trace.q.data(), trial),
        scores(pass.trace.scores.data(), trial),
        weights(pass.trace.weights.data(), trial),
        ds(pass.trace.scores.grad().data(), trial),
        dp(pass.trace.weights.grad().data(), trial),
        dq(pass.trace.q.grad().data(), trial),
        dk(pass.trace.k.grad().data(), trial),
        dv(pass.trace.v.grad().data(), trial),
        step(pass.step, trial) {}

  struct Matrix {
    Matrix(const autograd::Array& stacked, Index trial)
        : rows(stacked.shape()[1]),
          width(stacked.shape()[2]),
          data(stacked.read<T>().data() + trial * rows * width) {}
    std::span<const T> row(Index i) const {
      return {data + i * width, static_cast<std::size_t>(width)};
    }
    Index rows, width;
    const T* data;
  };
  Matrix q, scores, weights, ds, dp, dq, dk, dv, step;
};

// Given q, s = a |q| x with x iid normal, and integration by parts gives E[tr J] = E[sum x p] /
// (a |q|). x is taken about its mean, which p does not depend on: the same expectation with less
// variance, and finite however small |q| is.
template <class T>
double trace_by_parts(std::span<const T> scores, std::span<const T> weights, double a_q) {
  double mean = 0, weighted = 0;
  for (const T s : scores) mean += static_cast<double>(s);
  mean /= static_cast<double>(scores.size());
  for (std::size_t i = 0; i < scores.size(); ++i) {
    weighted += (static_cast<double>(scores[i]) - mean) * static_cast<double>(weights[i]);
  }
  return a_q == 0 ? 0 : weighted / (a_q * a_q);
}

template <class T>
void measure_row(const View<T>& view, double a, Index i, std::size_t row, Samples& out) {
  const RowStats stats = row_stats(view.scores.row(i), view.weights.row(i));
  out.entropy[row] = stats.entropy;
  out.p_max[row] = stats.p_max;
  out.jacobian[row] = stats.jacobian;
  out.trace[row] = stats.trace;
  out.trace_by_parts[row] =
      trace_by_parts(view.scores.row(i), view.weights.row(i), a * measure::norm(view.q.row(i)));
  out.ds[row] = measure::norm(view.ds.row(i));
  out.dq[row] = measure::norm(view.dq.row(i));
  out.step[row] = std::abs(a) * measure::norm(view.step.row(i));
  out.gain[row] = gain(view.ds.row(i), view.dp.row(i));
}

template <class T>
void measure_scores(const View<T>& view, std::size_t trial, Samples& out) {
  const std::size_t count = static_cast<std::size_t>(view.scores.rows * view.scores.width);
  const std::span<const T> scores{view.scores.data, count};
  const auto [low, high] = std::minmax_element(scores.begin(), scores.end());
  double sum = 0, squares = 0;
  for (const T s : scores) {
    sum += static_cast<double>(s);
    squares += static_cast<double>(s) * static_cast<double>(s);
  }
  out.score_min[trial] = static_cast<double>(*low);
  out.score_max[trial] = static_cast<double>(*high);
  out.score_mean[trial] = sum / static_cast<double>(count);
  out.score_square[trial] = squares / static_cast<double>(count);
}

}  // namespace

template <class T>
double gain(std::span<const T> ds, std::span<const T> dp) {
  const double all = norm_about_mean(dp);
  return all == 0 ? 0 : measure::norm(ds) / all;
}

template double gain<float>(std::span<const float>, std::span<const float>);
template double gain<double>(std::span<const double>, std::span<const double>);

template <class T>
RowStats row_stats(std::span<const T> scores, std::span<const T> weights) {
  const std::size_t n = scores.size();
  const std::size_t top =
      static_cast<std::size_t>(std::max_element(weights.begin(), weights.end()) - weights.begin());
  const auto top_score = static_cast<double>(scores[top]),
             p_max = static_cast<double>(weights[top]);
  double rest = 0, spread = 0;  // sum of the other weights; sum p_i (s_max - s_i)
  for (std::size_t i = 0; i < n; ++i) {
    if (i == top) continue;
    const auto p = static_cast<double>(weights[i]);
    rest += p;
    if (p > 0) spread += p * (top_score - static_cast<double>(scores[i]));  // 0 ln 0 = 0
  }
  double diagonal = 0, pairs = 0, before = 0, trace = 0;  // before: sum of p_i^2 for i < j
  for (std::size_t j = 0; j < n; ++j) {
    const auto p = static_cast<double>(weights[j]);
    const double variance = p * (j == top ? rest : 1 - p);
    trace += variance;
    diagonal += variance * variance;
    pairs += p * p * before;
    before += p * p;
  }
  // ln p_i = ln p_max - (s_max - s_i), and p_max = 1 - rest: exact where p_max rounds to 1.
  const double log_p_max = rest < 0.5 ? std::log1p(-rest) : std::log(p_max);
  return {spread - log_p_max, p_max, std::sqrt(diagonal + 2 * pairs), trace};
}

template RowStats row_stats<float>(std::span<const float>, std::span<const float>);
template RowStats row_stats<double>(std::span<const double>, std::span<const double>);

void measure(const Pass& pass, double a, Index first, Samples& out) {
  const Index trials = pass.trace.q.size(0), m = pass.trace.q.size(1), T = pass.trace.k.size(1);
  autograd::dispatch_real(pass.trace.q.dtype(), "scaling", [&](auto tag) {
    using Real = decltype(tag);
    autograd::parallel_for(trials, std::max<Index>(1, 4096 / (m * T)), [&](Index begin, Index end) {
      for (Index n = begin; n < end; ++n) {
        const View<Real> view(pass, n);
        measure_scores(view, static_cast<std::size_t>(first + n), out);
        for (Index i = 0; i < m; ++i) {
          measure_row(view, a, i, static_cast<std::size_t>((first + n) * m + i), out);
        }
        for (Index j = 0; j < T; ++j) {
          const auto key = static_cast<std::size_t>((first + n) * T + j);
          out.dk[key] = measure::norm(view.dk.row(j));
          out.dv[key] = measure::norm(view.dv.row(j));
        }
      }
    });
  });
}

}  // namespace experiments::softmax
