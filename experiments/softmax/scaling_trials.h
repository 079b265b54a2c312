#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "autograd/tensor.h"
#include "nn/init.h"
#include "nn/scale.h"

// The trials of the scaling experiment. One trial is fresh K, V (T x d) and min(T, 16) queries; one
// row is one query of it. L = sum(softmax(a Q K^T) V * G) with G ~ N(0,1) / sqrt(d), so that, for
// V ~ N(0,1), every entry of dP = G V^T is N(0,1) whatever d is.

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
/// k = x W_k and v = x W_v with a fresh W (channels x d) a trial by the rule of that name, and the
/// queries are the first rows of x W_q.
Trials draw_trials(const Setting& setting, Index first, Index count);

/// What is seen of all trials under one scale.
struct Samples {
  explicit Samples(const Setting& setting);

  // a value a row
  std::vector<double> entropy, p_max, jacobian, trace, gain, ds, dq;
  std::vector<double> trace_by_parts;  // sum_i x_i p_i / (a |q|): the same mean as the trace's
  std::vector<double> step;            // |a^2 K K^T dS|: logits moved by one unit-rate step on q
  // a value a key
  std::vector<double> dk, dv;
  // a value a trial
  std::vector<double> score_min, score_max, score_mean, score_square;
};

/// Runs the trials forward and backward, all scales on the same numbers. progress gets the share of
/// trials done. chunk: how many trials at once; changes nothing but speed and memory.
std::vector<Samples> run_trials(const Setting& setting, std::span<const nn::Scale> scales,
                                Index chunk, const std::function<void(double)>& progress);

/// Trials at once so that the working set is about 1 MB (or one trial); at most all of them.
Index chunk_of(const Setting& setting);
/// Peak memory of run_trials and of the summaries after it.
double bytes_of(const Setting& setting, std::size_t scales, int threads);

/// Of one row of scores and of its softmax. |J|_F takes one pass without cancellation, 1 - p_max is
/// the sum of the others; entropy in nats.
struct RowStats {
  double entropy, p_max, jacobian, trace;
};
template <class T>
RowStats row_stats(std::span<const T> scores, std::span<const T> weights);

}  // namespace experiments::softmax
