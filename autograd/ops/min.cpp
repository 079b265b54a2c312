#include "autograd/ops/extreme.h"

namespace autograd {

Tensor min(const Tensor& x, Dims dims, KeepDim keep) {
  return detail::reduce_extreme("min", min, x, dims, keep);
}

}  // namespace autograd
