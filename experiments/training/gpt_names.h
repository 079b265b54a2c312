#pragma once

#include "nn/gpt.h"
#include "nn/io/safetensors_header.h"

namespace experiments::training {

/// How other programs store the weights of attention and MLP: (out, in) as nn::Linear
/// does (nanoGPT, minGPT), or (in, out) as the "Conv1D" of GPT-2's own files does.
enum class Layout { linear, conv1d };

enum class Masks { no, yes };

/// lm_head.weight of a file: weights of its own, those of wte again, or none, which is taken to
/// mean those of wte.
enum class LmHead { own, tied, missing };

struct ForeignGpt {
  nn::State state;        // for GPT(config).load_state(state)
  nn::GPTOptions config;  // what the tensors tell, n_head, and gelu
  Layout layout;
  LmHead head;
  const char* why_gelu = "";  // the reason for the choice of config.gelu, which no tensor tells
};

/// What a header alone tells of a GPT of others.
struct HeaderOfGpt {
  nn::Index n_embd = 0;
  Masks masks = Masks::no;  // whether it had some
};

/// For nn::read_safetensors(): erases the masks, whatever their dtype, and refuses what
/// from_foreign() would, before any data is read.
HeaderOfGpt choose_foreign(nn::SafetensorsHeader& header);

/// The tensors of a GPT as nanoGPT, minGPT or GPT-2 name them:
///   transformer.h.0.attn.c_attn.weight -> h.0.attn.qkv.weight, c_proj -> proj, c_fc -> fc
/// "_orig_mod." and "transformer." may be missing; the masks attn.bias (1, 1, T, T) and
/// attn.masked_bias are dropped, and so is an lm_head that equals the token embedding. The layout
/// shows in the shape of c_attn, (3C, C) or (C, 3C). No tensor tells n_head. Gelu is taken to be
/// exact where all looks like nanoGPT, and tanh's approximation where the layout is GPT-2's, the
/// head is not tied (minGPT) or masks are stored (minGPT, older nanoGPT); `masks` says whether
/// there were some that have been erased. DataError that lists the names that are missing or
/// unknown, or names a tensor with its shape and the one expected.
ForeignGpt from_foreign(nn::State foreign, nn::Index n_head, Masks masks = Masks::no);

/// The reverse, for a GPT whose config those programs could have: with "transformer.", and with
/// lm_head.weight also where it is tied. DataError as above.
nn::State to_foreign(const nn::State& ours, Layout layout);

}  // namespace experiments::training
