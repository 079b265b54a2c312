#pragma once

#include <string>

#include "nn/attention.h"
#include "nn/layer_norm.h"
#include "nn/mlp.h"

namespace nn {

/// Where a block normalises: before each of its two branches (GPT-2), or after adding them (the
/// original transformer). See Xiong et al., "On layer normalization in the transformer
/// architecture" (2020).
enum class NormPosition { pre, post };

struct BlockConfig {
  AttentionConfig attention;  // its dropout, bias and init hold for the Mlp too
  NormPosition norm = NormPosition::pre;
  Gelu gelu = Gelu::erf;
};

/// Attention and an Mlp, each added to what it was given: (B, T, n_embd) -> (B, T, n_embd).
/// Children: ln_1, attn, ln_2, mlp. 12 n_embd^2 weights, and 13 n_embd more with biases.
class Block : public Module {
 public:
  explicit Block(const BlockConfig& config, Generator& generator = autograd::default_generator());

  using Module::operator();
  /// The same, and the trace of its attention.
  Tensor operator()(const Tensor& x, AttentionTrace* trace);

  MultiHeadAttention& attn() { return attn_; }
  Mlp& mlp() { return mlp_; }

 private:
  Tensor forward(const Tensor& x) override { return forward(x, nullptr); }
  Tensor forward(const Tensor& x, AttentionTrace* trace);
  std::string details() const override;

  NormPosition norm_;
  LayerNorm& ln_1_;
  MultiHeadAttention& attn_;
  LayerNorm& ln_2_;
  Mlp& mlp_;
};

}  // namespace nn
