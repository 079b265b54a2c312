#include "nn/gpt.h"

#include <cmath>

namespace nn {

using autograd::fail;
using autograd::ShapeError;

namespace {

void divide(const Tensor& parameter, double divisor) {
  if (ShapesOnly::on()) return;
  Tensor(parameter).set_data((parameter.detach() / divisor).data());
}

Index cached_positions() {
  const KVCache* cache = KVCache::newest();
  return cache ? cache->length() : 0;
}

}  // namespace

GPT::GPT(const GPTOptions& options, Generator& generator)
    : Module("GPT"),
      options_(checked(options)),
      wte_(register_module<Embedding>("wte", options.vocab_size, options.n_embd,
                                      EmbeddingOptions{.init = Init::gpt2, .dtype = options.dtype},
                                      generator)),
      wpe_(register_module<Embedding>("wpe", options.block_size, options.n_embd,
                                      EmbeddingOptions{.init = Init::gpt2, .dtype = options.dtype},
                                      generator)),
      drop_(register_module<Dropout>("drop", options.dropout, generator)),
      h_(register_module<ModuleList<Block>>("h")),
      ln_f_(register_module<LayerNorm>(
          "ln_f", options.n_embd, LayerNormOptions{.bias = options.bias, .dtype = options.dtype})) {
  const double depth = std::sqrt(2.0 * static_cast<double>(options.n_layer));
  for (Index i = 0; i < options.n_layer; ++i) {
    Block& block = h_.append(options.block(), generator);
    divide(block.attn().proj().weight(), depth);
    divide(block.mlp().proj().weight(), depth);
  }
  if (options.tied == Tied::yes) return;
  lm_head_ = &register_module<Linear>(
      "lm_head", options.n_embd, options.vocab_size,
      LinearOptions{.bias = Bias::no, .init = Init::gpt2, .dtype = options.dtype}, generator);
}

Tensor GPT::forward(const Tensor& tokens) {
  const auto [B, T] = tokens.dims<2>("GPT: tokens are (B, T)");
  const Index past = cached_positions();
  if (past + T > options_.block_size) {
    fail<ShapeError>("GPT: expected at most block_size {} tokens in a row, got {}{}",
                     options_.block_size, tokens.shape().str(),
                     past > 0 ? fmt::format(" behind {} in the KVCache", past) : "");
  }
  const Tensor positions = autograd::arange(past + T).narrow(0, past, T);
  Tensor x = drop_(wte_(tokens) + wpe_(positions));  // (B, T, C)
  for (Block& block : h_) x = block(x);
  x = ln_f_(x);
  return lm_head_ ? (*lm_head_)(x) : linear(x, wte_.weight());  // (B, T, V)
}

std::vector<NamedShape> parameter_shapes(const GPTOptions& options) {
  const ShapesOnly shapes_only;
  Generator unused(0);
  return GPT(options, unused).named_shapes();
}

std::string GPT::details() const {
  return fmt::format("block_size {}, scale {}, {} head", options_.block_size, options_.scale.name(),
                     options_.tied == Tied::yes ? "tied" : "own");
}

}  // namespace nn
