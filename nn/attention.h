#pragma once

#include <string>

#include "nn/config.h"
#include "nn/dropout.h"
#include "nn/layer_norm.h"
#include "nn/linear.h"

namespace nn {

/// What attention computed on the way. After backward each has its gradient in .grad(), unless it
/// needs none. Keeps the graph alive as long as it lives.
struct AttentionTrace {
  Tensor q, k, v;  // as given to attention(): one head a matrix
  Tensor scores;   // scaled: what softmax is given
  Tensor weights;  // what softmax gives, before dropout; rows sum to one
};

struct AttentionOptions {
  Scale scale = Scale::sqrt_dk();
  Causal causal = Causal::no;       // query t sees keys 0 to t
  Tensor mask = {};                 // b8, broadcasts to (..., T, S): true where a query may look
  Dropout* dropout = nullptr;       // for the weights; none if null
  AttentionTrace* trace = nullptr;  // filled unless null
};

/// Scaled dot-product attention, softmax(a q k^T) v (Vaswani et al., "Attention is all you need",
/// 2017, eq. 1): q (..., T, D), k (..., S, D), v (..., S, E) -> (..., T, E); the leading dims
/// broadcast, D is at least 1. ShapeError with all three shapes. A query that may look nowhere gets
/// zeros, and so do its gradients.
Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v,
                 const AttentionOptions& options = {});

/// Multi-head self-attention, (B, T, n_embd) -> (B, T, n_embd): n_head attentions side by side,
/// each on its own head_size channels of one fused projection. Every position sees every other,
/// unless the config is causal. Parameters: qkv.weight (3 n_embd, n_embd), [qkv.bias], proj.weight
/// (n_embd, n_embd), [proj.bias]: 4 n_embd^2 numbers, and 4 n_embd more with biases; with qk_norm
/// also q_norm.weight and k_norm.weight (head_size), shared by the heads.
class MultiHeadAttention : public Module {
 public:
  /// ValueError as checked(config) throws.
  explicit MultiHeadAttention(const AttentionConfig& config,
                              Generator& generator = autograd::default_generator());

  using Module::operator();
  /// The same to rounding, and the trace of it: q, k, v are (B, H, T, D), scores and weights (B, H,
  /// T, T). Without a trace, a mask and qk_norm no such matrix is ever whole.
  Tensor operator()(const Tensor& x, AttentionTrace* trace);
  /// The same where `mask` (b8, broadcasts to (B, H, T, T)) is true, and the config allows.
  Tensor operator()(const Tensor& x, const Tensor& mask, AttentionTrace* trace = nullptr);

  const AttentionConfig& config() const { return config_; }
  const Linear& proj() const { return proj_; }

 private:
  Tensor forward(const Tensor& x) override { return forward(x, Tensor(), nullptr); }
  Tensor forward(const Tensor& x, const Tensor& mask, AttentionTrace* trace);
  std::string details() const override;

  AttentionConfig config_;
  Linear& qkv_;  // q, k and v at once
  Linear& proj_;
  Dropout& attn_dropout_;
  Dropout& resid_dropout_;
  LayerNorm* q_norm_ = nullptr;
  LayerNorm* k_norm_ = nullptr;
};

}  // namespace nn
