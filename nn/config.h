#pragma once

#include "nn/init.h"
#include "nn/scale.h"
#include "nn/types.h"

namespace nn {

using autograd::Causal;

/// Whether queries and keys are normalised, so that no weight can make the scores large (Dehghani
/// et al., "Scaling vision transformers to 22 billion parameters", 2023).
enum class QkNorm : bool { no, yes };

/// A self-attention layer. The widths are those of GPT-2 small.
struct AttentionConfig {
  Index n_embd = 768;  // C: channels in and out
  Index n_head = 12;   // H: divides n_embd
  double dropout = 0.0;
  Bias bias = Bias::no;
  Scale scale = Scale::sqrt_dk();
  Causal causal = Causal::no;
  QkNorm qk_norm = QkNorm::no;
  Init init = Init::torch;
  DType dtype = DType::f32;

  Index head_size() const { return n_embd / n_head; }  // D
};

/// The same config; ValueError, naming the values, if sizes are below 1, n_head does not divide
/// n_embd, or dropout is not in [0, 1].
const AttentionConfig& checked(const AttentionConfig& config);

/// ValueError in the name of `what` unless p is in [0, 1].
void check_probability(double p, const char* what);

}  // namespace nn
