#include "nn/config.h"

namespace nn {

using autograd::fail;
using autograd::ValueError;

void check_probability(double p, const char* what) {
  if (!(p >= 0.0 && p <= 1.0)) {  // written so that NaN fails
    fail<ValueError>("{}: the probability must be in [0, 1], got {}", what, p);
  }
}

const AttentionConfig& checked(const AttentionConfig& config) {
  const Index n_embd = config.n_embd, n_head = config.n_head;
  if (n_embd < 1 || n_head < 1) {
    fail<ValueError>("attention: n_embd and n_head must be at least 1, got n_embd {} and n_head {}",
                     n_embd, n_head);
  }
  if (n_embd % n_head != 0) {
    fail<ValueError>("attention: n_head {} does not divide n_embd {}", n_head, n_embd);
  }
  check_probability(config.dropout, "attention dropout");
  return config;
}

}  // namespace nn
