#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "nn/gpt.h"

namespace experiments::training {

/// How the next token is drawn from softmax(logits / temperature).
struct Sampling {
  double temperature = 1.0;  // at least 0; 0: always the most likely token, the first of equals
  nn::Index top_k = 0;       // only the k most likely; 0: all
  double top_p = 1.0;        // only the fewest of the most likely that hold this share together
};

/// One token of (V) logits; u in [0, 1) decides. NumericError if a logit is not finite.
std::int64_t draw_token(std::span<const double> logits, const Sampling& sampling, double u);

/// Whether keys and values are kept from token to token, in an nn::KVCache. The logits are the same
/// but for rounding.
enum class Cached : bool { no, yes };

/// Continues `tokens` (at least one) by `count`, each from the last block_size before it;
/// take(token) says whether to go on. In evaluation mode, without gradients; the model's own mode
/// is put back. Draw i is a function of (key, i). Beyond block_size each token moves all others to
/// the position before, where a cache is of no use: from there on all are computed again.
void generate(nn::GPT& model, std::vector<std::int64_t> tokens, nn::Index count,
              const Sampling& sampling, autograd::RandomKey key,
              const std::function<bool(std::int64_t)>& take, Cached cached = Cached::yes);

}  // namespace experiments::training
