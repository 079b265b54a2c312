#include "experiments/training/generate.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "nn/eval_mode.h"

namespace experiments::training {
namespace {

using autograd::fail;
using autograd::NumericError;
using nn::Index;
using nn::Tensor;

/// Tokens, the most likely first; ties in order of their number.
std::vector<std::size_t> by_likelihood(std::span<const double> logits) {
  std::vector<std::size_t> order(logits.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](auto a, auto b) { return logits[a] > logits[b]; });
  return order;
}

/// How many of the first tokens of `weights` (descending, sum `total`) hold the share top_p.
std::size_t nucleus(std::span<const double> weights, double total, double top_p) {
  double held = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    held += weights[i];
    if (held >= top_p * total) return i + 1;
  }
  return weights.size();
}

}  // namespace

std::int64_t draw_token(std::span<const double> logits, const Sampling& sampling, double u) {
  for (std::size_t i = 0; i < logits.size(); ++i) {
    if (!std::isfinite(logits[i])) {
      fail<NumericError>("sampling: expected finite logits, got {} for token {}", logits[i], i);
    }
  }
  if (sampling.temperature == 0) return std::ranges::max_element(logits) - logits.begin();
  const std::vector<std::size_t> order = by_likelihood(logits);
  const std::size_t kept = sampling.top_k > 0
                               ? std::min(order.size(), static_cast<std::size_t>(sampling.top_k))
                               : order.size();
  std::vector<double> weights(kept);
  for (std::size_t i = 0; i < kept; ++i) {
    weights[i] = std::exp((logits[order[i]] - logits[order.front()]) / sampling.temperature);
  }
  weights.resize(
      nucleus(weights, std::accumulate(weights.begin(), weights.end(), 0.0), sampling.top_p));
  double rest = u * std::accumulate(weights.begin(), weights.end(), 0.0);
  for (std::size_t i = 0; i + 1 < weights.size(); ++i) {
    if (rest < weights[i]) return static_cast<std::int64_t>(order[i]);
    rest -= weights[i];
  }
  return static_cast<std::int64_t>(order[weights.size() - 1]);
}

void generate(nn::GPT& model, std::vector<std::int64_t> tokens, Index count,
              const Sampling& sampling, autograd::RandomKey key,
              const std::function<bool(std::int64_t)>& take, Cached cached) {
  const nn::EvalMode eval(model);
  std::optional<nn::KVCache> cache;
  if (cached == Cached::yes && model.options().causal == nn::Causal::yes) cache.emplace();
  const Index block_size = model.options().block_size;
  const autograd::Array draws = autograd::uniform({count}, 0, 1, nn::DType::f64, key);
  for (Index i = 0; i < count; ++i) {
    const Index length = std::ssize(tokens);
    if (length > block_size) cache.reset();
    const Index first = cache ? cache->length() : std::max<Index>(0, length - block_size);
    const std::span<const std::int64_t> context(tokens.begin() + first, tokens.end());
    const Tensor logits = model(autograd::from_values(context, {1, length - first}));
    const autograd::Array last = logits.select(1, length - first - 1).to(nn::DType::f64).data();
    const std::int64_t token = draw_token(last.read<double>(), sampling, draws.at(i));
    if (!take(token)) return;
    tokens.push_back(token);
  }
}

}  // namespace experiments::training
