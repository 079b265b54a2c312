#include "nn/layer_norm.h"

namespace nn {

LayerNorm::LayerNorm(Index size, const LayerNormOptions& options)
    : Module("LayerNorm"), eps_(options.eps) {
  if (size < 1 || !(eps_ > 0)) {
    autograd::fail<autograd::ValueError>(
        "LayerNorm: expected a size of at least 1 and eps above 0, got {} and {}", size, eps_);
  }
  const Shape shape{size};
  weight_ =
      register_parameter("weight", shape, [&] { return autograd::ones(shape, options.dtype); });
  if (options.bias == Bias::no) return;
  bias_ = register_parameter("bias", shape, [&] { return autograd::zeros(shape, options.dtype); });
}

Tensor LayerNorm::forward(const Tensor& x) { return layer_norm(x, weight_, bias_, eps_); }

std::string LayerNorm::details() const {
  return fmt::format("{}{}", shape_of("weight")[0], named_shapes().size() > 1 ? "" : ", no bias");
}

}  // namespace nn
