#pragma once

#include <cstdint>

#include "autograd/array/dtype.h"
#include "autograd/array/shape.h"
#include "nn/attention.h"

// Step 3 of the lesson: its MultiHeadAttention and its asserts, with the widths of GPT-2 small
// (C = 768, H = 12), x (2, 8, C) ~ N(0,1) and PyTorch's default initialisation.

namespace experiments::softmax {

/// What the lesson's last listing prints and asserts, and what it might have.
struct ModuleFacts {
  nn::Shape input, output;
  nn::Index parameters = 0;            // counted in the module
  nn::Index parameters_with_bias = 0;  // the same with Bias::yes
  nn::Index head_counts = 0;           // divisors of C, each of them tried as H
  nn::Index distinct_counts = 0;       // different parameter counts among those
  double eval_difference = 0;          // largest |y1 - y2| of two forwards in eval
  double dropped_eval_difference = 0;  // the same of a module with dropout 0.1
  double dropped_train_difference = 0;
  double moved = 0;               // largest change of y at position 5 when x changes at position 0
  bool moved_as_printed = false;  // not allclose(y[:, 5, :], y_pert[:, 5, :])
};
ModuleFacts run_module(std::uint64_t seed, autograd::DType dtype);

/// The module's attention at initialisation.
struct InitialAttention {
  nn::Index rows = 0;  // softmax rows seen
  double score_std = 0;
  double entropy_norm = 0;    // mean H / ln T
  double p_max = 0;           // mean
  double saturated_rows = 0;  // share with p_max > .9999
};
InitialAttention run_initial(std::uint64_t seed, autograd::DType dtype, const nn::Scale& scale);

/// The expected standard deviation of the scores without a scale: W ~ U(+-1/sqrt(C)) has
/// variance 1 / (3 C), so q.k has about D (C / (3 C))^2.
double expected_initial_std();

/// Parameters of GPT-2 small by its config: 50,257 tokens, 1,024 positions, 12 blocks, C = 768, the
/// output layer tied to the token embedding.
struct Gpt2Count {
  std::int64_t tokens, positions;  // V C, T C
  std::int64_t blocks;             // 12 (12 C^2 + 13 C): attention, MLP, biases, two LayerNorms
  std::int64_t final_norm;         // 2 C
  std::int64_t attention_biases;   // of all blocks, 12 (4 C); part of `blocks`
  std::int64_t attention_weights;  // of all blocks, 12 (4 C^2)
  std::int64_t total() const { return tokens + positions + blocks + final_norm; }
};
Gpt2Count gpt2_count();

/// Parameters of the checkpoint that OpenAI published, "124M".
inline constexpr std::int64_t kGpt2Published = 124'439'808;

}  // namespace experiments::softmax
