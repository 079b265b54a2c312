#include "nn/gpt.h"

#include <cmath>

namespace nn {

using autograd::fail;
using autograd::ShapeError;
using autograd::ValueError;

namespace {

BlockConfig block_config(const GPTConfig& c) {
  return {.attention = {.n_embd = c.n_embd,
                        .n_head = c.n_head,
                        .dropout = c.dropout,
                        .bias = c.bias,
                        .scale = c.scale,
                        .causal = c.causal,
                        .qk_norm = c.qk_norm,
                        .init = Init::gpt2,
                        .dtype = c.dtype},
          .norm = c.norm,
          .gelu = c.gelu};
}

void divide(const Tensor& parameter, double divisor) {
  Tensor(parameter).set_data((parameter.detach() / divisor).data());
}

}  // namespace

const GPTConfig& checked(const GPTConfig& config) {
  const auto at_least_one = [](const char* what, Index value) {
    if (value < 1) fail<ValueError>("GPT: {} must be at least 1, got {}", what, value);
  };
  at_least_one("block_size", config.block_size);
  at_least_one("vocab_size", config.vocab_size);
  at_least_one("n_layer", config.n_layer);
  checked(block_config(config).attention);
  return config;
}

GPT::GPT(const GPTConfig& config, Generator& generator)
    : Module("GPT"),
      config_(checked(config)),
      wte_(register_module<Embedding>("wte", config.vocab_size, config.n_embd,
                                      EmbeddingOptions{.dtype = config.dtype}, generator)),
      wpe_(register_module<Embedding>("wpe", config.block_size, config.n_embd,
                                      EmbeddingOptions{.dtype = config.dtype}, generator)),
      drop_(register_module<Dropout>("drop", config.dropout, generator)),
      h_(register_module<ModuleList<Block>>("h")),
      ln_f_(register_module<LayerNorm>(
          "ln_f", config.n_embd, LayerNormOptions{.bias = config.bias, .dtype = config.dtype})) {
  const double depth = std::sqrt(2.0 * static_cast<double>(config.n_layer));
  for (Index i = 0; i < config.n_layer; ++i) {
    Block& block = h_.append(block_config(config), generator);
    divide(block.attn().proj().weight(), depth);
    divide(block.mlp().proj().weight(), depth);
  }
  if (config.tied == Tied::yes) return;
  lm_head_ = &register_module<Linear>(
      "lm_head", config.n_embd, config.vocab_size,
      LinearOptions{.bias = Bias::no, .init = Init::gpt2, .dtype = config.dtype}, generator);
}

Tensor GPT::operator()(const Tensor& tokens, std::vector<AttentionTrace>* traces) {
  const ModuleScope scope(*this);
  return forward(tokens, traces);
}

Tensor GPT::forward(const Tensor& tokens, std::vector<AttentionTrace>* traces) {
  const auto [B, T] = tokens.dims<2>("GPT: tokens are (B, T)");
  if (T > config_.block_size) {
    fail<ShapeError>("GPT: expected at most block_size {} tokens in a row, got {}",
                     config_.block_size, tokens.shape().str());
  }
  if (traces) traces->assign(static_cast<std::size_t>(config_.n_layer), {});
  Tensor x = drop_(wte_(tokens) + wpe_(autograd::arange(T)));  // (B, T, C)
  for (Index i = 0; i < config_.n_layer; ++i) {
    x = h_[i](x, traces ? &(*traces)[static_cast<std::size_t>(i)] : nullptr);
  }
  x = ln_f_(x);
  return lm_head_ ? (*lm_head_)(x) : linear(x, wte_.weight());  // (B, T, V)
}

std::string GPT::details() const {
  return fmt::format("block_size {}, scale {}, {} head", config_.block_size, config_.scale.name(),
                     config_.tied == Tied::yes ? "tied" : "own");
}

}  // namespace nn
