#include "nn/layer_norm.h"

namespace nn {

LayerNorm::LayerNorm(Index size, const LayerNormOptions& options)
    : Module("LayerNorm"), eps_(options.eps) {
  if (size < 1 || !(eps_ > 0)) {
    autograd::fail<autograd::ValueError>(
        "LayerNorm: expected a size of at least 1 and eps above 0, got {} and {}", size, eps_);
  }
  weight_ = register_parameter("weight", autograd::ones({size}, options.dtype));
  if (options.bias == Bias::yes) {
    bias_ = register_parameter("bias", autograd::zeros({size}, options.dtype));
  }
}

Tensor LayerNorm::forward(const Tensor& x) { return layer_norm(x, weight_, bias_, eps_); }

std::string LayerNorm::details() const {
  return fmt::format("{}{}", weight_.size(0), bias_.defined() ? "" : ", no bias");
}

}  // namespace nn
