#include "autograd/ops/extreme.h"

namespace autograd {

Tensor max(const Tensor& x, std::span<const int> dims, KeepDim keep) {
  return detail::reduce_extreme("max", max, x, dims, keep);
}

Tensor max(const Tensor& x, std::initializer_list<int> dims, KeepDim keep) {
  return max(x, std::span<const int>(dims.begin(), dims.size()), keep);
}

}  // namespace autograd
