#pragma once

#include <array>

#include "nn/init.h"
#include "nn/scale.h"
#include "nn/types.h"

// The options of layers and optimizers, with all defaults of nn. They are
// PyTorch's where the meaning is PyTorch's; a GPT and its parts have the sizes of GPT-2 small.

namespace nn {

using autograd::Causal;
using autograd::Gelu;

/// Whether queries and keys are normalised, so that no weight can make the scores large (Dehghani
/// et al., "Scaling vision transformers to 22 billion parameters", 2023).
enum class QkNorm : bool { no, yes };

/// Where a block normalises: before each of its two branches (GPT-2), or after adding them (the
/// original transformer). See Xiong et al., "On layer normalization in the transformer
/// architecture" (2020).
enum class NormPosition { pre, post };

/// Whether the head is the token embedding.
enum class Tied : bool { no, yes };

enum class Nesterov : bool { no, yes };

// --- layers

struct LinearOptions {
  Bias bias = Bias::yes;
  Init init = Init::torch;
  DType dtype = DType::f32;
};

struct EmbeddingOptions {
  Init init = Init::torch;
  DType dtype = DType::f32;
};

struct LayerNormOptions {
  Bias bias = Bias::yes;
  double eps = 1e-5;
  DType dtype = DType::f32;
};

struct MLPOptions {
  double dropout = 0.0;
  Bias bias = Bias::yes;
  Gelu gelu = Gelu::erf;
  Init init = Init::torch;
  DType dtype = DType::f32;
};

struct MultiHeadAttentionOptions {
  Index n_embd = 768;  // C: channels in and out
  Index n_head = 12;   // H: divides n_embd
  double dropout = 0.0;
  Bias bias = Bias::yes;
  Scale scale = Scale::sqrt_dk();
  Causal causal = Causal::no;
  QkNorm qk_norm = QkNorm::no;
  Init init = Init::torch;
  DType dtype = DType::f32;

  Index head_size() const { return n_embd / n_head; }  // D
};

struct BlockOptions {
  MultiHeadAttentionOptions attention = {};  // its dropout, bias and init hold for the MLP too
  NormPosition norm = NormPosition::pre;
  Gelu gelu = Gelu::erf;
};

/// The names are nanoGPT's. Weights start as GPT-2's, which nothing here changes.
struct GPTOptions {
  Index block_size = 1024;   // the longest sequence
  Index vocab_size = 50257;  // V
  Index n_layer = 12;
  Index n_head = 12;
  Index n_embd = 768;  // C
  double dropout = 0.0;
  Bias bias = Bias::yes;  // in Linears and LayerNorms
  Tied tied = Tied::yes;
  Scale scale = Scale::sqrt_dk();
  Causal causal = Causal::yes;
  QkNorm qk_norm = QkNorm::no;
  NormPosition norm = NormPosition::pre;
  Gelu gelu = Gelu::erf;
  DType dtype = DType::f32;

  BlockOptions block() const;  // of each of its blocks
};

// --- optimizers

struct SGDOptions {
  double lr = 1e-3;
  double momentum = 0.0;      // in [0, 1)
  double weight_decay = 0.0;  // added to the gradient, times the parameter
  Nesterov nesterov = Nesterov::no;
};

struct AdamOptions {
  double lr = 1e-3;
  std::array<double, 2> betas = {0.9, 0.999};  // each in [0, 1)
  double eps = 1e-8;                           // above 0, in the dtype of the parameters too
  double weight_decay = 0.0;                   // added to the gradient, times the parameter
};

struct AdamWOptions {
  double lr = 1e-3;
  std::array<double, 2> betas = {0.9, 0.999};
  double eps = 1e-8;
  double weight_decay = 1e-2;  // p *= 1 - lr * weight_decay, ahead of the update
};

// --- checks

/// The same options; ValueError, naming the values, if a size is below 1, n_head does not divide
/// n_embd, or dropout is not in [0, 1].
const MultiHeadAttentionOptions& checked(const MultiHeadAttentionOptions& options);
const GPTOptions& checked(const GPTOptions& options);

/// ValueError in the name of `what` unless p is in [0, 1].
void check_probability(double p, const char* what);

}  // namespace nn
