#include "nn/options.h"

namespace nn {

using autograd::fail;
using autograd::ValueError;

void check_probability(double p, const char* what) {
  if (!(p >= 0.0 && p <= 1.0)) {  // written so that NaN fails
    fail<ValueError>("{}: the probability must be in [0, 1], got {}", what, p);
  }
}

const MultiHeadAttentionOptions& checked(const MultiHeadAttentionOptions& options) {
  const Index n_embd = options.n_embd, n_head = options.n_head;
  if (n_embd < 1 || n_head < 1) {
    fail<ValueError>("attention: n_embd and n_head must be at least 1, got n_embd {} and n_head {}",
                     n_embd, n_head);
  }
  if (n_embd % n_head != 0) {
    fail<ValueError>("attention: n_head {} does not divide n_embd {}", n_head, n_embd);
  }
  check_probability(options.dropout, "attention dropout");
  return options;
}

BlockOptions GPTOptions::block() const {
  return {.attention = {.n_embd = n_embd,
                        .n_head = n_head,
                        .dropout = dropout,
                        .bias = bias,
                        .scale = scale,
                        .causal = causal,
                        .qk_norm = qk_norm,
                        .init = Init::gpt2,
                        .dtype = dtype},
          .norm = norm,
          .gelu = gelu};
}

const GPTOptions& checked(const GPTOptions& options) {
  const auto at_least_one = [](const char* what, Index value) {
    if (value < 1) fail<ValueError>("GPT: {} must be at least 1, got {}", what, value);
  };
  at_least_one("block_size", options.block_size);
  at_least_one("vocab_size", options.vocab_size);
  at_least_one("n_layer", options.n_layer);
  checked(options.block().attention);
  return options;
}

}  // namespace nn
