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
  const Tensor weights = softmax(scores, /*dim=*/-1);        // a mask makes this masked_softmax
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
      resid_dropout_(register_module<Dropout>("resid_dropout", config.dropout, generator)) {}

Tensor MultiHeadAttention::operator()(const Tensor& x, AttentionTrace* trace) {
  const ModuleScope scope(*this);
  return forward(x, trace);
}

Tensor MultiHeadAttention::forward(const Tensor& x, AttentionTrace* trace) {
  const auto [B, T, C] = x.dims<3>("MultiHeadAttention: x is (B, T, n_embd)");
  const Index H = config_.n_head, D = config_.head_size();

  auto [q, k, v] = split<3>(qkv_(x), config_.n_embd, /*dim=*/-1);  // each (B, T, C)
  q = q.reshape({B, T, H, D}).transpose(1, 2);                     // (B, H, T, D)
  k = k.reshape({B, T, H, D}).transpose(1, 2);
  v = v.reshape({B, T, H, D}).transpose(1, 2);

  const Tensor y =
      attention(q, k, v, {.scale = config_.scale, .dropout = &attn_dropout_, .trace = trace});
  return resid_dropout_(proj_(y.transpose(1, 2).reshape({B, T, C})));  // heads side by side again
}

std::string MultiHeadAttention::details() const {
  return fmt::format("n_embd {}, n_head {}, scale {}", config_.n_embd, config_.n_head,
                     config_.scale.name());
}

}  // namespace nn
