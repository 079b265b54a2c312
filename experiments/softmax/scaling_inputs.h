#pragma once

#include <algorithm>
#include <cstdint>

#include "autograd/tensor.h"
#include "nn/init.h"

namespace experiments::softmax {

using autograd::Index;

/// One size of the experiment: everything that decides its random numbers.
struct Setting {
  Index d_k = 64;
  Index seq_len = 16;
  Index trials = 250;
  nn::Init init = nn::Init::unit;
  Index n_embd = 768;  // channels of x under torch and gpt2
  std::uint64_t seed = 0;
  autograd::DType dtype = autograd::DType::f64;

  static Index queries_of(Index seq_len) { return std::min<Index>(seq_len, 16); }
  Index queries() const { return queries_of(seq_len); }
  Index rows() const { return trials * queries(); }
  /// Of x: the lesson's W is d x d.
  Index channels() const { return init == nn::Init::lesson ? d_k : n_embd; }
};

/// Some consecutive trials, stacked: q and g (n, queries, d), k and v (n, T, d).
struct Trials {
  autograd::Tensor q, k, v, g;
};
/// Each trial reads its own random streams, so any cut into chunks gives the same numbers, and all
/// scales are given the same trials. unit: q, k, v ~ N(0,1). Otherwise x ~ N(0,1) (T x channels),
/// k = x W_k and v = x W_v with a fresh W (channels x d) for every trial by the rule of that name,
/// and the queries are the first rows of x W_q.
Trials draw_trials(const Setting& setting, Index first, Index count);

}  // namespace experiments::softmax
