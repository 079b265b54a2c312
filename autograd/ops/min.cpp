#include "autograd/ops/extreme.h"

namespace autograd {

Tensor min(const Tensor& x, std::span<const int> dims, KeepDim keep) {
  return detail::reduce_extreme("min", min, x, dims, keep);
}

Tensor min(const Tensor& x, std::initializer_list<int> dims, KeepDim keep) {
  return min(x, std::span<const int>(dims.begin(), dims.size()), keep);
}

}  // namespace autograd
