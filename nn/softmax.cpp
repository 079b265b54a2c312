#include "nn/softmax.h"

namespace nn {

Tensor Softmax::forward(const Tensor& x) { return softmax(x, dim_); }

std::string Softmax::details() const { return fmt::format("dim {}", dim_); }

}  // namespace nn
