#include "autograd/array/elementwise.h"
#include "autograd/array/layout.h"
#include "autograd/array/softmax.h"
#include "autograd/ops.h"

namespace autograd {

Tensor masked_softmax(const Tensor& x, const Tensor& mask, int dim) {
  if (x.rank() == 0) return masked_softmax(x.reshape({1}), mask, dim).reshape(Shape{});
  if (mask.dtype() != DType::b8) {
    fail<DTypeError>("masked_softmax: expected a mask of b8, got {}", name(mask.dtype()));
  }
  const Array y = masked_softmax(x.data(), expand(mask.data(), x.shape()),
                                 x.shape().axis(dim, "masked_softmax"));
  return record("masked_softmax", y, {{x, [y, dim](const Array& g) {  // 0 where y is
                                         const Array gy = g * y;
                                         return gy - y * sum(gy, dim, KeepDim::yes);
                                       }}});
}

}  // namespace autograd
