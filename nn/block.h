#pragma once

#include <string>

#include "nn/attention.h"
#include "nn/layer_norm.h"
#include "nn/mlp.h"

namespace nn {

/// Attention and an MLP, each added to its input: (B, T, n_embd) -> (B, T, n_embd).
/// Children: ln_1, attn, ln_2, mlp. 12 n_embd^2 weights, and 13 n_embd more with biases.
class Block : public Module {
 public:
  explicit Block(const BlockOptions& options, Generator& generator = autograd::default_generator());

  MultiHeadAttention& attn() { return attn_; }
  MLP& mlp() { return mlp_; }

 private:
  Tensor forward(const Tensor& x) override;
  std::string details() const override;

  NormPosition norm_;
  LayerNorm& ln_1_;
  MultiHeadAttention& attn_;
  LayerNorm& ln_2_;
  MLP& mlp_;
};

}  // namespace nn
