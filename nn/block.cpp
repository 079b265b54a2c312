#include "nn/block.h"

namespace nn {
namespace {

LayerNormOptions norm_options(const AttentionConfig& config) {
  return {.bias = config.bias, .dtype = config.dtype};
}

MlpOptions mlp_options(const BlockConfig& config) {
  const AttentionConfig& a = config.attention;
  return {
      .dropout = a.dropout, .bias = a.bias, .gelu = config.gelu, .init = a.init, .dtype = a.dtype};
}

}  // namespace

Block::Block(const BlockConfig& config, Generator& generator)
    : Module("Block"),
      norm_(config.norm),
      ln_1_(register_module<LayerNorm>("ln_1", config.attention.n_embd,
                                       norm_options(config.attention))),
      attn_(register_module<MultiHeadAttention>("attn", config.attention, generator)),
      ln_2_(register_module<LayerNorm>("ln_2", config.attention.n_embd,
                                       norm_options(config.attention))),
      mlp_(register_module<Mlp>("mlp", config.attention.n_embd, mlp_options(config), generator)) {}

Tensor Block::operator()(const Tensor& x, AttentionTrace* trace) {
  const ModuleScope scope(*this);
  return forward(x, trace);
}

Tensor Block::forward(const Tensor& x, AttentionTrace* trace) {
  if (norm_ == NormPosition::post) {
    const Tensor h = ln_1_(x + attn_(x, trace));
    return ln_2_(h + mlp_(h));
  }
  const Tensor h = x + attn_(ln_1_(x), trace);
  return h + mlp_(ln_2_(h));
}

std::string Block::details() const { return norm_ == NormPosition::pre ? "pre-LN" : "post-LN"; }

}  // namespace nn
