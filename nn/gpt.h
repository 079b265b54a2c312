#pragma once

#include <string>
#include <vector>

#include "nn/block.h"
#include "nn/embedding.h"
#include "nn/module_list.h"

namespace nn {

/// Radford et al., "Language models are unsupervised multitask learners" (2019), GPT-2: tokens i64
/// (B, T) -> logits (B, T, vocab_size). Weights start at N(0, 0.02^2), the projections that are
/// added to the residual stream divided by sqrt(2 n_layer), biases at 0. With a KVCache the tokens
/// follow those that it holds.
/// Children: wte, wpe, drop, h (n_layer Blocks), ln_f, and lm_head where it is not tied.
class GPT : public Module {
 public:
  explicit GPT(const GPTOptions& options, Generator& generator = autograd::default_generator());

  const GPTOptions& options() const { return options_; }
  ModuleList<Block>& blocks() { return h_; }

 private:
  Tensor forward(const Tensor& tokens) override;
  std::string details() const override;

  GPTOptions options_;
  Embedding& wte_;
  Embedding& wpe_;
  Dropout& drop_;
  ModuleList<Block>& h_;
  LayerNorm& ln_f_;
  Linear* lm_head_ = nullptr;
};

/// Names and shapes of the parameters of a GPT(options), which is not made.
std::vector<NamedShape> parameter_shapes(const GPTOptions& options);

}  // namespace nn
