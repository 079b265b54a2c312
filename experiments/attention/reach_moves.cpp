#include "experiments/attention/reach_moves.h"

#include <cmath>
#include <numeric>

#include "autograd/ops.h"
#include "experiments/attention/draws.h"
#include "experiments/measure/values.h"

namespace experiments::attention {
namespace {

using autograd::Tensor;

/// (1, T, C): x with `delta` more in every channel of the position.
Tensor nudged(const Tensor& x, Index position, double delta) {
  Tensor moved = x.clone();
  moved.select_(0, position) += delta;
  return moved.unsqueeze(0);
}

double norm_of(std::span<const double> v) {
  return std::sqrt(std::inner_product(v.begin(), v.end(), v.begin(), 0.0));
}

/// The norm of each row of (1, T, C).
std::vector<double> row_norms(const Tensor& t) {
  const std::vector<double> values = measure::doubles(t);
  const auto channels = static_cast<std::size_t>(t.size(2));
  std::vector<double> norms;
  for (std::size_t i = 0; i < values.size(); i += channels)
    norms.push_back(norm_of(std::span(values).subspan(i, channels)));
  return norms;
}

double dot(const Tensor& a, const Tensor& b) {
  const std::vector<double> x = measure::doubles(a), y = measure::doubles(b);
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += x[i] * y[i];
  return sum;
}

/// d(y . seed) / d delta: the gradient of x summed over the channels of the position.
double pulled_back(const Tensor& y, const Tensor& x, const Tensor& seed, Index position) {
  const Tensor g = autograd::grad(y, {x}, seed, autograd::Retain::yes)[0];
  return g.select(1, position).sum().item();
}

/// Zero except for row t, which is the direction of dy there.
Tensor direction(const Tensor& dy, Index t, double norm) {
  Tensor seed = autograd::zeros(dy.shape(), dy.dtype());
  if (norm > 0) seed.select_(1, t) = dy.select(1, t) / norm;
  return seed;
}

std::vector<double> weights_to(const Tensor& weights, Index position) {
  return measure::doubles(weights.mean({1}).select(-1, position));  // (1, H, T, T) -> (1, T)
}

struct Traced {
  Tensor y;
  nn::TracedAttention attention;
};

Traced traced(nn::MultiHeadAttention& layer, const Tensor& x) {
  const nn::AttentionTrace trace;
  const Tensor y = layer(x);
  return {y, trace[0]};
}

}  // namespace

double small_step(autograd::DType dtype) { return dtype == autograd::DType::f32 ? 1e-2 : 1e-5; }

Moves moves_of(nn::MultiHeadAttention& layer, const Tensor& x, Nudge nudge, Index probes,
               const Run& run) {
  Moves moves;
  Tensor dy;
  const Index T = x.size(0);
  {
    const autograd::NoGrad no_grad;
    const auto [y, attention] = traced(layer, x.unsqueeze(0));
    moves.size = row_norms(y);
    moves.weight = weights_to(attention.weights, nudge.position);
    moves.moved = row_norms(layer(nudged(x, nudge.position, nudge.delta)) - y);
    const auto difference = [&](double step) {
      return (layer(nudged(x, nudge.position, step)) - layer(nudged(x, nudge.position, -step))) /
             (2 * step);
    };
    const double step = small_step(run.dtype);
    dy = difference(step);
    // A third of the difference from twice the step is the error, from the third derivative;
    // rounding is eps |y|, amplified by the exponentials.
    const double amplified = 1 + measure::largest(measure::doubles(attention.scores));
    moves.slope_error = norm_of(measure::doubles(difference(2 * step) - dy)) +
                        8 * measure::epsilon(run.dtype) * amplified * norm_of(moves.size) / step;
    moves.slope = row_norms(dy);
  }
  for (const auto* values : {&moves.size, &moves.moved, &moves.weight, &moves.slope})
    measure::require_finite(*values, "reach: the outputs");

  const Tensor leaf = x.unsqueeze(0).clone().detach().requires_grad_();
  const Tensor y = layer(leaf);
  for (Index t = 0; t < T; ++t) {
    run.progress(static_cast<double>(t) / static_cast<double>(T + probes));
    const Tensor seed = direction(dy, t, moves.slope[t]);
    moves.gradient.push_back(pulled_back(y, leaf, seed, nudge.position));
  }
  for (Index i = 0; i < probes; ++i) {
    const Tensor w = normals(y.shape(), run, key_of(run.seed, Draw::probe, i));
    moves.probed.push_back(dot(w, dy));
    moves.probed_gradient.push_back(pulled_back(y, leaf, w, nudge.position));
  }
  return moves;
}

}  // namespace experiments::attention
