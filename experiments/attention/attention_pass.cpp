#include "experiments/attention/attention_pass.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "experiments/attention/draws.h"
#include "experiments/measure/values.h"

namespace experiments::attention {
namespace {

using autograd::Tensor;
using Row = std::span<const double>;

Row row_of(const std::vector<double>& all, Index row, Index width) {
  return Row(all).subspan(static_cast<std::size_t>(row * width), static_cast<std::size_t>(width));
}

/// Below the smallest normal float an error is no longer relative.
double ratio(double error, double size) {
  return error / std::max(size, double{std::numeric_limits<float>::min()});
}

/// |sum p - 1|, the largest.
double row_sum_error(const AttentionPass& pass) {
  double worst = 0;
  for (Index i = 0; i < pass.heads * pass.tokens; ++i) {
    double sum = 0;
    for (const double p : row_of(pass.weights, i, pass.tokens)) sum += p;
    worst = std::max(worst, std::abs(sum - 1));
  }
  return worst;
}

/// |s - a q.k| over a sum |q_c k_c|, the largest.
double score_error(const AttentionPass& pass) {
  double worst = 0;
  for (Index i = 0; i < pass.heads * pass.tokens; ++i) {
    const Row q = row_of(pass.q, i, pass.head_size);
    for (Index j = 0; j < pass.tokens; ++j) {
      const Row k = row_of(pass.k, i / pass.tokens * pass.tokens + j, pass.head_size);
      double sum = 0, size = 0;
      for (std::size_t c = 0; c < q.size(); ++c) {
        sum += q[c] * k[c];
        size += std::abs(q[c] * k[c]);
      }
      const double s = pass.scores[static_cast<std::size_t>(i * pass.tokens + j)];
      const double error = std::abs(s - pass.factor * sum);
      worst = std::max(worst, ratio(error, std::abs(pass.factor) * size));
    }
  }
  return worst;
}

/// For the rows of dS, over sum p |dP|: the largest |sum| and the largest |dS - p (dP - p.dP)|.
struct GradientErrors {
  double sum = 0, formula = 0;
};

GradientErrors gradient_errors(const AttentionPass& pass) {
  GradientErrors worst;
  for (Index i = 0; i < pass.heads * pass.tokens; ++i) {
    const Row p = row_of(pass.weights, i, pass.tokens);
    const Row ds = row_of(pass.d_scores, i, pass.tokens),
              dp = row_of(pass.d_weights, i, pass.tokens);
    double mean = 0, size = 0, sum = 0, formula = 0;
    for (std::size_t j = 0; j < p.size(); ++j) {
      mean += p[j] * dp[j];
      size += p[j] * std::abs(dp[j]);
      sum += ds[j];
    }
    for (std::size_t j = 0; j < p.size(); ++j)
      formula = std::max(formula, std::abs(ds[j] - p[j] * (dp[j] - mean)));
    worst.sum = std::max(worst.sum, ratio(std::abs(sum), size));
    worst.formula = std::max(worst.formula, ratio(formula, size));
  }
  return worst;
}

}  // namespace

AttentionPass pass_of(const nn::MultiHeadAttentionOptions& config, const Tensor& x,
                      Gradients gradients, const Run& run) {
  nn::Generator generator(run.seed);
  nn::MultiHeadAttention layer(config, generator);
  layer.eval();
  const nn::AttentionTrace traces;
  const Tensor y = layer(x.unsqueeze(0));
  const nn::TracedAttention& trace = traces[0];
  AttentionPass pass{.heads = config.n_head,
                     .tokens = x.size(0),
                     .head_size = config.head_size(),
                     .factor = config.scale.factor(config.head_size()),
                     .q = measure::doubles(trace.q),
                     .k = measure::doubles(trace.k),
                     .v = measure::doubles(trace.v),
                     .scores = measure::doubles(trace.scores),
                     .weights = measure::doubles(trace.weights)};
  measure::require_finite(pass.scores, "attention: the scores");
  measure::require_finite(pass.weights, "attention: the weights");
  if (gradients == Gradients::yes) {
    const Tensor g = normals(y.shape(), run, key_of(run.seed, Draw::cotangent));
    (y * g).sum().backward();
    pass.d_scores = measure::doubles(trace.scores.grad());
    pass.d_weights = measure::doubles(trace.weights.grad());
    measure::require_finite(pass.d_scores, "attention: the gradients of the scores");
    measure::require_finite(pass.d_weights, "attention: the gradients of the weights");
  }
  return pass;
}

std::vector<Check> checks_of(const AttentionPass& pass, autograd::DType dtype) {
  const double row = 4 * static_cast<double>(pass.tokens + 4) * measure::epsilon(dtype);
  const double dot = static_cast<double>(pass.head_size + 4) * measure::epsilon(dtype);
  std::vector<Check> checks;
  const auto add = [&](const char* name, double error, double allowed) {
    checks.push_back({name, CheckKind::identity, error, 0, allowed, error <= allowed});
  };
  add("each row of the weights sums to 1", row_sum_error(pass), row);
  add("scores = a q.k in plain loops, relative", score_error(pass), dot);
  if (!pass.d_scores.empty()) {
    const GradientErrors errors = gradient_errors(pass);
    add("each row of dS sums to 0, relative", errors.sum, row);
    add("dS = P (dP - P.dP) in plain loops, relative", errors.formula, row);
  }
  return checks;
}

double normalised_entropy(std::span<const double> weights, Index tokens) {
  if (tokens < 2) return 0;
  double sum = 0;
  for (const double p : weights)
    if (p > 0) sum -= p * std::log(p);
  const auto t = static_cast<double>(tokens);
  return sum / (t * std::log(t));
}

}  // namespace experiments::attention
