#include "autograd/ops/extreme.h"

namespace autograd {

Tensor max(const Tensor& x, Dims dims, KeepDim keep) {
  return detail::reduce_extreme("max", max, x, dims, keep);
}

}  // namespace autograd
