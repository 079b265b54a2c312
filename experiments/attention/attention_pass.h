#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/attention/layer.h"
#include "experiments/report/report.h"

namespace experiments::attention {

enum class Gradients : bool { no, yes };

/// What the gradients are those of. Written random | row:N | class:N.
struct Loss {
  enum class Kind { random, row, label };
  Kind kind = Kind::random;
  Index at = 0;

  /// ValueError with the text and the allowed forms.
  static Loss parse(std::string_view text);
  std::string name() const;  // the written form
  /// From the layer's output y, (1, T, C). random: sum(y * g) with g ~ N(0,1) fixed by the seed;
  /// row: the same for row N alone; class: the mean cross-entropy of all rows, taken as logits,
  /// against channel N. ValueError if there is no such row or channel.
  autograd::Tensor of(const autograd::Tensor& y, const Run& run) const;
};

/// What one pass of a layer over T tokens computed on the way, head by head.
struct AttentionPass {
  Index heads = 0, tokens = 0, head_size = 0;
  double factor = 1;                                  // of the scores: s = factor q.k
  std::vector<double> q, k, v;                        // (H, T, D)
  std::vector<double> scores, weights;                // (H, T, T)
  std::vector<double> d_scores = {}, d_weights = {};  // their gradients; empty if not asked for
  std::vector<double> kept, heads_out;          // (H, T, T) after dropout; (H, T, D), that times v
  std::vector<double> x, out;                   // (T, C): into and out of the layer
  std::vector<double> qkv_weight, proj_weight;  // (3 C, C), (C, C)
  std::vector<double> d_q = {}, d_k = {}, d_v = {}, d_kept = {}, d_heads_out = {}, d_x = {},
                      d_out = {};

  /// One head of `all`, which is one of the members above.
  std::span<const double> head(const std::vector<double>& all, Index h) const {
    const std::size_t each = all.size() / static_cast<std::size_t>(heads);
    return std::span(all).subspan(static_cast<std::size_t>(h) * each, each);
  }
};

/// x is (T, C). Dropout, if the options have some, drops weights; the output stays whole.
AttentionPass pass_of(const nn::MultiHeadAttentionOptions& config, const autograd::Tensor& x,
                      Gradients gradients, const Run& run, const Loss& loss = {});

/// Checks the pass against its definitions, in plain loops.
std::vector<Check> checks_of(const AttentionPass& pass, autograd::DType dtype);

/// Mean over the rows of a (T, T) map of -sum p ln p, divided by ln T; 0 for T = 1.
double normalised_entropy(std::span<const double> weights, Index tokens);

}  // namespace experiments::attention
