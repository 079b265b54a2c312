#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "nn/dropout.h"
#include "nn/kv_cache.h"
#include "nn/layer_norm.h"
#include "nn/linear.h"
#include "nn/options.h"

namespace nn {

/// What one call of attention() computed on the way. After backward each has its gradient in
/// .grad(), unless it needs none.
struct TracedAttention {
  std::string path;  // of the module that called: "GPT.h.0.attn"
  Tensor q, k, v;    // as given to attention(): one matrix per head
  Tensor scores;     // what softmax is given: scaled, and changed where the options say so
  Tensor weights;    // what softmax gives, before dropout; rows sum to one
  Tensor kept;       // what multiplies v: the weights after dropout, or the same without
  Tensor out;        // what attention() returns
};

/// While it lives, it keeps what every attention() call of this thread computes, first to last:
///   const nn::AttentionTrace trace;
///   model(tokens);
///   trace[0].weights
/// It keeps the graphs alive too. Layers then make the matrices that they otherwise do without, so
/// their results are the same only to rounding. If there are several, only the newest records.
class AttentionTrace {
 public:
  AttentionTrace();
  ~AttentionTrace();
  AttentionTrace(const AttentionTrace&) = delete;
  AttentionTrace& operator=(const AttentionTrace&) = delete;

  static AttentionTrace* newest();  // of this thread; null if there is none
  void add(TracedAttention call) { calls_.push_back(std::move(call)); }

  const std::deque<TracedAttention>& calls() const { return calls_; }
  const TracedAttention& operator[](Index i) const;        // ValueError unless there is one
  const TracedAttention& at(std::string_view path) const;  // the first of a path; ValueError

 private:
  AttentionTrace* outer_;
  std::deque<TracedAttention> calls_;  // references to them stay valid
};

struct AttentionOptions {
  Scale scale = Scale::sqrt_dk();
  std::function<Tensor(const Tensor& scores)> score_mod = {};  // (..., T, S) -> the same shape
  Tensor attn_bias = {};                   // then added; broadcasts to (..., T, S)
  Causal causal = Causal::no;              // query t sees keys 0 to query_offset + t
  std::optional<Index> query_offset = {};  // 0 for T = S; else ShapeError unless given
  Tensor mask = {};            // b8, broadcasts to (..., T, S): true where a query may look
  Dropout* dropout = nullptr;  // for the weights; none if null
};

/// Scaled dot-product attention, softmax(a q k^T) v (Vaswani et al., "Attention is all you need",
/// 2017, eq. 1): q (..., T, D), k (..., S, D), v (..., S, E) -> (..., T, E); the leading dims
/// broadcast, D is at least 1. ShapeError with all three shapes. A query that sees no key gets
/// zeros, and so do its gradients.
Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v,
                 const AttentionOptions& options = {});

/// Multi-head self-attention, (B, T, n_embd) -> (B, T, n_embd): n_head attentions side by side,
/// each on its own head_size channels of one fused projection. Every position sees every other,
/// unless the options are causal. Without a trace, a mask or qk_norm, no (T, T) matrix is ever
/// stored. With a KVCache, x goes on where the layer's last input ended. Parameters: qkv.weight (3
/// n_embd, n_embd), [qkv.bias], proj.weight (n_embd, n_embd), [proj.bias]: 4 n_embd^2 numbers, and
/// 4 n_embd more with biases; with qk_norm also q_norm.weight and k_norm.weight (head_size), shared
/// by the heads.
class MultiHeadAttention : public Module {
 public:
  /// ValueError as checked(options) throws.
  explicit MultiHeadAttention(const MultiHeadAttentionOptions& options,
                              Generator& generator = autograd::default_generator());

  using Module::operator();
  /// The same where `mask` (b8, broadcasts to (B, H, T, T)) is true, and the options allow.
  Tensor operator()(const Tensor& x, const Tensor& mask);

  const MultiHeadAttentionOptions& options() const { return options_; }
  const Linear& proj() const { return proj_; }

 private:
  Tensor forward(const Tensor& x) override { return forward(x, Tensor()); }
  Tensor forward(const Tensor& x, const Tensor& mask);
  Tensor heads(const Tensor& qkv, const Tensor& mask);
  Tensor fused_heads(const Tensor& qkv);
  Tensor cached_attention(KVCache& cache, const Tensor& q, const Tensor& k, const Tensor& v,
                          AttentionOptions options);
  autograd::FusedAttentionOptions fused_options();
  std::string details() const override;

  MultiHeadAttentionOptions options_;
  Linear& qkv_;  // q, k and v at once
  Linear& proj_;
  Dropout& attn_dropout_;
  Dropout& resid_dropout_;
  LayerNorm* q_norm_ = nullptr;
  LayerNorm* k_norm_ = nullptr;
};

}  // namespace nn
