#include "nn/block.h"

namespace nn {
namespace {

LayerNormOptions norm_options(const MultiHeadAttentionOptions& options) {
  return {.bias = options.bias, .dtype = options.dtype};
}

MLPOptions mlp_options(const BlockOptions& options) {
  const MultiHeadAttentionOptions& a = options.attention;
  return {
      .dropout = a.dropout, .bias = a.bias, .gelu = options.gelu, .init = a.init, .dtype = a.dtype};
}

}  // namespace

Block::Block(const BlockOptions& options, Generator& generator)
    : Module("Block"),
      norm_(options.norm),
      ln_1_(register_module<LayerNorm>("ln_1", options.attention.n_embd,
                                       norm_options(options.attention))),
      attn_(register_module<MultiHeadAttention>("attn", options.attention, generator)),
      ln_2_(register_module<LayerNorm>("ln_2", options.attention.n_embd,
                                       norm_options(options.attention))),
      mlp_(register_module<MLP>("mlp", options.attention.n_embd, mlp_options(options), generator)) {
}

Tensor Block::forward(const Tensor& x) {
  if (norm_ == NormPosition::post) {
    const Tensor h = ln_1_(x + attn_(x));
    return ln_2_(h + mlp_(h));
  }
  const Tensor h = x + attn_(ln_1_(x));
  return h + mlp_(ln_2_(h));
}

std::string Block::details() const { return norm_ == NormPosition::pre ? "pre-LN" : "post-LN"; }

}  // namespace nn
