#include "autograd/array/elementwise.h"
#include "autograd/array/layout.h"
#include "autograd/array/softmax.h"
#include "autograd/ops.h"

namespace autograd {

Tensor masked_softmax(const Tensor& x, const Tensor& mask, int dim) {
  if (x.rank() == 0) return masked_softmax(x.reshape({1}), mask, dim).reshape(Shape{});
  check_mask(mask.data(), "masked_softmax");
  const int axis = x.shape().axis(dim, "masked_softmax");
  const Array allowed = expand(mask.data(), x.shape()), zero = Array::scalar(0, x.dtype());
  const Array y = masked_softmax(x.data(), allowed, axis);
  return record("masked_softmax", y, {{x, [y, axis, allowed, zero](const Array& g) {
                                         // what flows into a masked place, even a NaN, stops there
                                         return softmax_backward(y, where(allowed, g, zero), axis);
                                       }}});
}

}  // namespace autograd
