#include "nn/mlp.h"

namespace nn {
namespace {

LinearOptions linear_options(const MlpOptions& options) {
  return {.bias = options.bias, .init = options.init, .dtype = options.dtype};
}

}  // namespace

Mlp::Mlp(Index n_embd, const MlpOptions& options, Generator& generator)
    : Module("Mlp"),
      gelu_(options.gelu),
      fc_(register_module<Linear>("fc", n_embd,
                                  autograd::checked_product(4, n_embd, "Mlp: 4 n_embd"),
                                  linear_options(options), generator)),
      proj_(
          register_module<Linear>("proj", 4 * n_embd, n_embd, linear_options(options), generator)),
      dropout_(register_module<Dropout>("dropout", options.dropout, generator)) {}

Tensor Mlp::forward(const Tensor& x) {
  const Tensor h = gelu(fc_(x), gelu_);  // (..., 4 n_embd)
  return dropout_(proj_(h));
}

}  // namespace nn
