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
  const Shape weight{out_features, in_features}, bias{out_features};
  weight_ = register_parameter("weight", weight, [&] { return init.weight(weight, in_features); });
  if (options.bias == Bias::no) return;
  bias_ = register_parameter("bias", bias, [&] { return init.bias(bias, in_features); });
}

Tensor Linear::forward(const Tensor& x) { return linear(x, weight_, bias_); }

std::string Linear::details() const {
  const Shape& shape = shape_of("weight");
  return fmt::format("{} -> {}{}", shape[1], shape[0],
                     named_shapes().size() > 1 ? "" : ", no bias");
}

}  // namespace nn
