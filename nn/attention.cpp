#include "nn/attention.h"

namespace nn {
namespace {

void check_shapes(const Tensor& q, const Tensor& k, const Tensor& v) {
  const bool matrices = q.rank() >= 2 && k.rank() >= 2 && v.rank() >= 2;
  if (!matrices || q.size(-1) != k.size(-1) || k.size(-2) != v.size(-2) || q.size(-1) < 1) {
    autograd::fail<autograd::ShapeError>(
        "attention: expected q (..., T, D), k (..., S, D), v (..., S, E), got {}, {}, {}",
        q.shape().str(), k.shape().str(), v.shape().str());
  }
}

/// (T, S): query t sees keys 0 to t.
Tensor causal_mask(Index T, Index S) {
  return le(autograd::arange(S), autograd::arange(T).reshape({T, 1}));
}

/// Softmax over the keys that each query may look at.
Tensor weights_of(const Tensor& scores, const AttentionOptions& options) {
  const bool causal = options.causal == Causal::yes;
  if (!causal && !options.mask.defined()) return softmax(scores, /*dim=*/-1);
  Tensor mask = options.mask;
  if (causal) {
    const Tensor past = causal_mask(scores.size(-2), scores.size(-1));
    mask = mask.defined() ? logical_and(mask, past) : past;
  }
  return masked_softmax(scores, mask, /*dim=*/-1);
}

void retain_grad(Tensor t) {
  if (t.requires_grad()) t.retain_grad();
}

LinearOptions linear_options(const AttentionConfig& config) {
  return {.bias = config.bias, .init = config.init, .dtype = config.dtype};
}

}  // namespace

Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v,
                 const AttentionOptions& options) {
  check_shapes(q, k, v);
  const double a = options.scale.factor(q.size(-1));
  const Tensor scores = matmul(q, k.transpose(-2, -1)) * a;  // (..., T, S)
  const Tensor weights = weights_of(scores, options);
  if (options.trace) {
    *options.trace = {q, k, v, scores, weights};
    for (const Tensor& t : {q, k, v, scores, weights}) retain_grad(t);
  }
  const Tensor kept = options.dropout ? (*options.dropout)(weights) : weights;
  return matmul(kept, v);  // (..., T, E)
}

MultiHeadAttention::MultiHeadAttention(const AttentionConfig& config, Generator& generator)
    : Module("MultiHeadAttention"),
      config_(checked(config)),
      qkv_(register_module<Linear>(
          "qkv", config.n_embd, autograd::checked_product(3, config.n_embd, "attention: 3 n_embd"),
          linear_options(config), generator)),
      proj_(register_module<Linear>("proj", config.n_embd, config.n_embd, linear_options(config),
                                    generator)),
      attn_dropout_(register_module<Dropout>("attn_dropout", config.dropout, generator)),
      resid_dropout_(register_module<Dropout>("resid_dropout", config.dropout, generator)) {
  if (config.qk_norm == QkNorm::no) return;
  const LayerNormOptions options{.bias = Bias::no, .dtype = config.dtype};
  q_norm_ = &register_module<LayerNorm>("q_norm", config.head_size(), options);
  k_norm_ = &register_module<LayerNorm>("k_norm", config.head_size(), options);
}

Tensor MultiHeadAttention::operator()(const Tensor& x, AttentionTrace* trace) {
  const ModuleScope scope(*this);
  return forward(x, Tensor(), trace);
}

Tensor MultiHeadAttention::operator()(const Tensor& x, const Tensor& mask, AttentionTrace* trace) {
  const ModuleScope scope(*this);
  return forward(x, mask, trace);
}

Tensor MultiHeadAttention::forward(const Tensor& x, const Tensor& mask, AttentionTrace* trace) {
  const auto [B, T, C] = x.dims<3>("MultiHeadAttention: x is (B, T, n_embd)");
  const Index H = config_.n_head, D = config_.head_size();

  const Tensor qkv = qkv_(x);                   // (B, T, 3 C)
  if (!trace && !mask.defined() && !q_norm_) {  // nobody asks for scores: they are never whole
    const double p = attn_dropout_.training() ? attn_dropout_.p() : 0.0;
    return resid_dropout_(proj_(fused_attention(qkv, {.n_head = H,
                                                      .scale = config_.scale.factor(D),
                                                      .causal = config_.causal,
                                                      .dropout = p,
                                                      .generator = &attn_dropout_.generator()})));
  }
  auto [q, k, v] = split<3>(qkv, config_.n_embd, /*dim=*/-1);  // each (B, T, C)
  q = q.reshape({B, T, H, D}).transpose(1, 2);                 // (B, H, T, D)
  k = k.reshape({B, T, H, D}).transpose(1, 2);
  v = v.reshape({B, T, H, D}).transpose(1, 2);
  if (q_norm_) q = (*q_norm_)(q), k = (*k_norm_)(k);

  const Tensor y = attention(q, k, v,
                             {.scale = config_.scale,
                              .causal = config_.causal,
                              .mask = mask,
                              .dropout = &attn_dropout_,
                              .trace = trace});                        // (B, H, T, D)
  return resid_dropout_(proj_(y.transpose(1, 2).reshape({B, T, C})));  // heads side by side again
}

std::string MultiHeadAttention::details() const {
  return fmt::format("n_embd {}, n_head {}, scale {}{}", config_.n_embd, config_.n_head,
                     config_.scale.name(), config_.causal == Causal::yes ? ", causal" : "");
}

}  // namespace nn
