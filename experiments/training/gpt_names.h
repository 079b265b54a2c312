#pragma once

#include "nn/gpt.h"

namespace experiments::training {

/// How other programs store the weights of attention and MLP: (out, in) as nn::Linear
/// does (nanoGPT, minGPT), or (in, out) as the "Conv1D" of GPT-2's own files does.
enum class Layout { linear, conv1d };

struct ForeignGpt {
  nn::State state;        // for GPT(config).load_state(state)
  nn::GPTOptions config;  // what the tensors tell, and n_head
  Layout layout;
};

/// The tensors of a GPT as nanoGPT, minGPT or GPT-2 name them:
///   transformer.h.0.attn.c_attn.weight -> h.0.attn.qkv.weight, c_proj -> proj, c_fc -> fc
/// "_orig_mod." and "transformer." may be missing; the buffers attn.bias (1, 1, T, T) and
/// attn.masked_bias are dropped, and so is an lm_head that equals the token embedding. The layout
/// shows in the shape of c_attn, (3C, C) or (C, 3C). No tensor tells n_head; gelu is taken to be
/// tanh's approximation in GPT-2's layout and exact in the other (minGPT's is not). DataError that
/// lists the names that are missing or unknown, or names a tensor with its shape and the one
/// expected.
ForeignGpt from_foreign(const nn::State& foreign, nn::Index n_head);

/// The reverse, for a GPT whose config those programs could have: with "transformer.", and with
/// lm_head.weight also where it is tied. DataError as above.
nn::State to_foreign(const nn::State& ours, Layout layout);

}  // namespace experiments::training
