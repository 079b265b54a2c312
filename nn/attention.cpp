#include "nn/attention.h"

#include <algorithm>

namespace nn {
namespace {

/// Whether all dims but the last two broadcast.
bool batches_broadcast(const Shape& a, const Shape& b) {
  for (Index i = 3; i <= std::min(a.rank(), b.rank()); ++i) {
    const Index m = a[a.rank() - i], n = b[b.rank() - i];
    if (m != n && m != 1 && n != 1) return false;
  }
  return true;
}

void check_shapes(const Tensor& q, const Tensor& k, const Tensor& v) {
  const bool matrices = q.rank() >= 2 && k.rank() >= 2 && v.rank() >= 2;
  const bool fit = matrices && q.size(-1) == k.size(-1) && k.size(-2) == v.size(-2) &&
                   q.size(-1) >= 1 && batches_broadcast(q.shape(), k.shape()) &&
                   batches_broadcast(q.shape(), v.shape()) &&
                   batches_broadcast(k.shape(), v.shape());
  if (fit) return;
  autograd::fail<autograd::ShapeError>(
      "attention: expected q (..., T, D), k (..., S, D), v (..., S, E), got {}, {}, {}",
      q.shape().str(), k.shape().str(), v.shape().str());
}

/// (T, S): query t sees keys 0 to offset + t.
Tensor causal_mask(Index T, Index S, Index offset) {
  const Tensor last = autograd::arange(offset + T).narrow(0, offset, T);
  return le(autograd::arange(S), last.reshape({T, 1}));
}

void check_broadcasts(const char* what, const Tensor& given, const Tensor& scores) {
  if (broadcasts_to(given.shape(), scores.shape())) return;
  autograd::fail<autograd::ShapeError>("attention: expected {} that broadcasts to {}, got {}", what,
                                       scores.shape().str(), given.shape().str());
}

Tensor with_bias(const Tensor& scores, const Tensor& bias) {
  check_broadcasts("an attn_bias", bias, scores);
  return scores + bias;
}

/// Softmax over the keys that each query sees.
Tensor weights_of(const Tensor& scores, const AttentionOptions& options) {
  const bool causal = options.causal == Causal::yes;
  if (!causal && !options.mask.defined()) return softmax(scores, /*dim=*/-1);
  Tensor mask = options.mask;
  if (mask.defined()) check_broadcasts("a mask", mask, scores);
  if (causal) {
    const Index T = scores.size(-2), S = scores.size(-1);
    const Tensor past =
        causal_mask(T, S, autograd::causal_offset(options.query_offset, T, S, "attention"));
    mask = mask.defined() ? logical_and(mask, past) : past;
  }
  return masked_softmax(scores, mask, /*dim=*/-1);
}

thread_local AttentionTrace* newest_trace = nullptr;

LinearOptions linear_options(const MultiHeadAttentionOptions& options) {
  return {.bias = options.bias, .init = options.init, .dtype = options.dtype};
}

}  // namespace

Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v,
                 const AttentionOptions& options) {
  check_shapes(q, k, v);
  const double a = options.scale.factor(q.size(-1));
  Tensor scores = matmul(q, k.transpose(-2, -1)) * a;  // (..., T, S)
  if (options.score_mod) scores = options.score_mod(scores);
  if (options.attn_bias.defined()) scores = with_bias(scores, options.attn_bias);
  const Tensor weights = weights_of(scores, options);
  const Tensor kept = options.dropout ? (*options.dropout)(weights) : weights;
  const Tensor out = matmul(kept, v);  // (..., T, E)
  if (AttentionTrace* trace = AttentionTrace::newest()) {
    for (Tensor t : {q, k, v, scores, weights, kept, out}) {
      if (t.requires_grad()) t.retain_grad();
    }
    trace->add({autograd::Scope::path(), q, k, v, scores, weights, kept, out});
  }
  return out;
}

MultiHeadAttention::MultiHeadAttention(const MultiHeadAttentionOptions& options,
                                       Generator& generator)
    : Module("MultiHeadAttention"),
      options_(checked(options)),
      qkv_(register_module<Linear>(
          "qkv", options.n_embd,
          autograd::checked_product(3, options.n_embd, "attention: 3 n_embd"),
          linear_options(options), generator)),
      proj_(register_module<Linear>("proj", options.n_embd, options.n_embd, linear_options(options),
                                    generator)),
      attn_dropout_(register_module<Dropout>("attn_dropout", options.dropout, generator)),
      resid_dropout_(register_module<Dropout>("resid_dropout", options.dropout, generator)) {
  if (options.qk_norm == QkNorm::no) return;
  const LayerNormOptions norm{.bias = Bias::no, .dtype = options.dtype};
  q_norm_ = &register_module<LayerNorm>("q_norm", options.head_size(), norm);
  k_norm_ = &register_module<LayerNorm>("k_norm", options.head_size(), norm);
}

Tensor MultiHeadAttention::operator()(const Tensor& x, const Tensor& mask) {
  const ModuleScope scope(*this);
  return forward(x, mask);
}

Tensor MultiHeadAttention::forward(const Tensor& x, const Tensor& mask) {
  (void)x.dims<3>("MultiHeadAttention: x is (B, T, n_embd)");
  const Tensor qkv = qkv_(x);  // (B, T, 3 C)
  const bool needs_heads =
      AttentionTrace::newest() || mask.defined() || q_norm_ || KVCache::newest();
  const Tensor y = needs_heads ? heads(qkv, mask) : fused_heads(qkv);
  return resid_dropout_(proj_(y));  // (B, T, C)
}

Tensor MultiHeadAttention::heads(const Tensor& qkv, const Tensor& mask) {
  const Index B = qkv.size(0), T = qkv.size(1);
  const Index C = options_.n_embd, H = options_.n_head, D = options_.head_size();

  auto [q, k, v] = split<3>(qkv, C, /*dim=*/-1);  // each (B, T, C)
  q = q.reshape({B, T, H, D}).transpose(1, 2);    // (B, H, T, D)
  k = k.reshape({B, T, H, D}).transpose(1, 2);
  v = v.reshape({B, T, H, D}).transpose(1, 2);
  if (q_norm_) q = (*q_norm_)(q), k = (*k_norm_)(k);

  const AttentionOptions options{
      .scale = options_.scale, .causal = options_.causal, .mask = mask, .dropout = &attn_dropout_};
  KVCache* const cache = KVCache::newest();
  const Tensor y = cache ? cached_attention(*cache, q, k, v, options)
                         : attention(q, k, v, options);  // (B, H, T, D)
  return y.transpose(1, 2).reshape({B, T, C});           // heads side by side again
}

// To the keys of all positions so far. The fused op reads them where they are.
Tensor MultiHeadAttention::cached_attention(KVCache& cache, const Tensor& q, const Tensor& k,
                                            const Tensor& v, AttentionOptions options) {
  if (options.causal == Causal::no) {
    autograd::fail<autograd::ValueError>(
        "KVCache: expected causal attention, as other keys come later, in {}", path());
  }
  const KVCache::Seen seen = cache.append(*this, k, v);
  const Index offset = seen.length - q.size(2);
  if (AttentionTrace::newest() || options.mask.defined()) {
    options.query_offset = offset;
    return attention(q, seen.k.narrow(2, 0, seen.length), seen.v.narrow(2, 0, seen.length),
                     options);
  }
  autograd::FusedAttentionOptions fused = fused_options();
  fused.query_offset = offset;
  return fused_attention(q, seen.k, seen.v, fused);
}

// The same to rounding, in one op that never makes the scores of all queries at once.
Tensor MultiHeadAttention::fused_heads(const Tensor& qkv) {
  return fused_attention(qkv, options_.n_head, fused_options());
}

autograd::FusedAttentionOptions MultiHeadAttention::fused_options() {
  return {.scale = options_.scale.factor(options_.head_size()),
          .causal = options_.causal,
          .dropout = attn_dropout_.training() ? attn_dropout_.p() : 0.0,
          .generator = &attn_dropout_.generator()};
}

std::string MultiHeadAttention::details() const {
  return fmt::format("n_embd {}, n_head {}, scale {}{}", options_.n_embd, options_.n_head,
                     options_.scale.name(), options_.causal == Causal::yes ? ", causal" : "");
}

// --- the trace

AttentionTrace::AttentionTrace() : outer_(std::exchange(newest_trace, this)) {}

AttentionTrace::~AttentionTrace() { newest_trace = outer_; }

AttentionTrace* AttentionTrace::newest() { return newest_trace; }

const TracedAttention& AttentionTrace::operator[](Index i) const {
  const auto size = static_cast<Index>(calls_.size());
  if (i < 0 || i >= size) {
    autograd::fail<autograd::ValueError>("AttentionTrace: call {} is not in [0, {})", i, size);
  }
  return calls_[static_cast<std::size_t>(i)];
}

const TracedAttention& AttentionTrace::at(std::string_view path) const {
  for (const TracedAttention& call : calls_) {
    if (call.path == path) return call;
  }
  autograd::fail<autograd::ValueError>("AttentionTrace: none of its {} calls was in '{}'",
                                       calls_.size(), path);
}

}  // namespace nn
