#include "nn/linear.h"

namespace nn {

Linear::Linear(Index in_features, Index out_features, const LinearOptions& options,
               Generator& generator)
    : Module("Linear") {
  if (in_features < 1 || out_features < 1) {
    autograd::fail<autograd::ValueError>("Linear: sizes must be at least 1, got {} -> {}",
                                         in_features, out_features);
  }
  const Initializer init{options.init, options.dtype, generator};
  weight_ = register_parameter("weight", init.weight({out_features, in_features}, in_features));
  if (options.bias == Bias::yes) {
    bias_ = register_parameter("bias", init.bias({out_features}, in_features));
  }
}

Tensor Linear::forward(const Tensor& x) { return linear(x, weight_, bias_); }

std::string Linear::details() const {
  return fmt::format("{} -> {}{}", weight_.size(1), weight_.size(0),
                     bias_.defined() ? "" : ", no bias");
}

}  // namespace nn
