#include "autograd/ops.h"

namespace autograd {

Tensor squeeze(const Tensor& x, int dim) {
  if (x.rank() == 0) return squeeze(x.reshape({1}), dim);
  const Shape from = x.shape();
  const int axis = from.axis(dim, "squeeze");
  if (from[axis] != 1) {
    fail<ShapeError>("squeeze: expected size 1 at dim {}, got shape {}", dim, from.str());
  }
  return record("squeeze", x.data().reshape(from.without(axis)),
                {{x, [from](const Array& g) { return g.reshape(from); }}});
}

}  // namespace autograd
