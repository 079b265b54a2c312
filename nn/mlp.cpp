#include "nn/mlp.h"

namespace nn {
namespace {

LinearOptions layer_options(const MLPOptions& options) {
  return {.bias = options.bias, .init = options.init, .dtype = options.dtype};
}

}  // namespace

MLP::MLP(Index n_embd, const MLPOptions& options, Generator& generator)
    : Module("MLP"),
      gelu_(options.gelu),
      fc_(register_module<Linear>("fc", n_embd,
                                  autograd::checked_product(4, n_embd, "MLP: 4 n_embd"),
                                  layer_options(options), generator)),
      proj_(register_module<Linear>("proj", 4 * n_embd, n_embd, layer_options(options), generator)),
      dropout_(register_module<Dropout>("dropout", options.dropout, generator)) {}

Tensor MLP::forward(const Tensor& x) {
  const Tensor h = gelu(fc_(x), gelu_);  // (..., 4 n_embd)
  return dropout_(proj_(h));
}

}  // namespace nn
