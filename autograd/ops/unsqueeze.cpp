#include "autograd/ops.h"

namespace autograd {

Tensor unsqueeze(const Tensor& x, int dim) {
  const Shape from = x.shape();
  const int axis = dim < 0 ? dim + from.rank() + 1 : dim;
  if (axis < 0 || axis > from.rank()) {
    fail<ShapeError>("unsqueeze: expected a dim in [{}, {}] for shape {}, got {}", -from.rank() - 1,
                     from.rank(), from.str(), dim);
  }
  return record("unsqueeze", x.data().reshape(from.inserted(axis, 1)),
                {{x, [from](const Array& g) { return g.reshape(from); }}});
}

}  // namespace autograd
