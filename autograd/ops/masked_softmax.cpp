#include "autograd/array/elementwise.h"
#include "autograd/array/layout.h"
#include "autograd/array/softmax.h"
#include "autograd/ops.h"
#include "autograd/ops/softmax.h"

namespace autograd {

// softmax over what the mask lets through, and 0 elsewhere. Its Jacobian is that of softmax,
// diag(y) - y y^T: where y is 0, so are its row and its column.
Tensor masked_softmax(const Tensor& x, const Tensor& mask, int dim) {
  if (x.rank() == 0) return masked_softmax(x.reshape({1}), mask, dim).reshape(Shape{});
  check_mask(mask.data(), "masked_softmax");
  const int axis = x.shape().axis(dim, "masked_softmax");
  if (!broadcasts_to(mask.shape(), x.shape())) {
    fail<ShapeError>("masked_softmax: expected a mask that broadcasts to {}, got {}",
                     x.shape().str(), mask.shape().str());
  }
  const Array allowed = expand(mask.data(), x.shape()), zero = Array::scalar(0, x.dtype());
  const Array y = masked_softmax(x.data(), allowed, axis);
  return record("masked_softmax", y, {{x, [y, axis, allowed, zero](const Array& g) {
                                         // what flows into a masked place, even a NaN, ends there
                                         return softmax_backward(y, where(allowed, g, zero), axis);
                                       }}});
}

}  // namespace autograd
