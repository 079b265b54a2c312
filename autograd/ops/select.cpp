#include "autograd/ops.h"

namespace autograd {

Tensor select(const Tensor& x, int dim, Index index) {
  const int axis = x.shape().axis(dim, "select");
  const Index size = x.shape()[axis];
  if (index < -size || index >= size) {
    fail<ValueError>("select: expected an index in [{}, {}) along dim {} of {}, got {}", -size,
                     size, dim, x.shape().str(), index);
  }
  return squeeze(narrow(x, axis, index < 0 ? index + size : index, 1), axis);
}

}  // namespace autograd
