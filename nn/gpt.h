#pragma once

#include <string>
#include <vector>

#include "nn/block.h"
#include "nn/embedding.h"
#include "nn/module_list.h"

namespace nn {

enum class Tied : bool { no, yes };

/// A GPT. The names are nanoGPT's, the sizes those of GPT-2 small.
struct GPTConfig {
  Index block_size = 1024;   // the longest sequence
  Index vocab_size = 50257;  // V
  Index n_layer = 12;
  Index n_head = 12;
  Index n_embd = 768;  // C
  double dropout = 0.0;
  Bias bias = Bias::yes;  // in Linears and LayerNorms
  Tied tied = Tied::yes;  // the head is the token embedding
  Scale scale = Scale::sqrt_dk();
  Causal causal = Causal::yes;
  QkNorm qk_norm = QkNorm::no;
  NormPosition norm = NormPosition::pre;
  Gelu gelu = Gelu::erf;
  DType dtype = DType::f32;
};

/// The same config; ValueError, naming the value, if a size is below 1, n_head does not divide
/// n_embd or dropout is not in [0, 1].
const GPTConfig& checked(const GPTConfig& config);

/// Radford et al., "Language models are unsupervised multitask learners" (2019), GPT-2: tokens i64
/// (B, T) -> logits (B, T, vocab_size). Weights start at N(0, 0.02^2), the projections that are
/// added to the residual stream divided by sqrt(2 n_layer), biases at 0.
/// Children: wte, wpe, drop, h (n_layer Blocks), ln_f, and lm_head where it is not tied.
class GPT : public Module {
 public:
  explicit GPT(const GPTConfig& config, Generator& generator = autograd::default_generator());

  using Module::operator();
  /// The same, and the traces of its attention layers, first to last.
  Tensor operator()(const Tensor& tokens, std::vector<AttentionTrace>* traces);

  const GPTConfig& config() const { return config_; }
  ModuleList<Block>& blocks() { return h_; }

 private:
  Tensor forward(const Tensor& tokens) override { return forward(tokens, nullptr); }
  Tensor forward(const Tensor& tokens, std::vector<AttentionTrace>* traces);
  std::string details() const override;

  GPTConfig config_;
  Embedding& wte_;
  Embedding& wpe_;
  Dropout& drop_;
  ModuleList<Block>& h_;
  LayerNorm& ln_f_;
  Linear* lm_head_ = nullptr;
};

}  // namespace nn
