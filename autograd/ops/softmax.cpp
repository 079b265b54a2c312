#include "autograd/array/softmax.h"

#include "autograd/array/elementwise.h"
#include "autograd/ops.h"

namespace autograd {

Tensor softmax(const Tensor& x, int dim) {
  if (x.rank() == 0) return softmax(x.reshape({1}), dim).reshape(Shape{});
  const Array y = softmax(x.data(), x.shape().axis(dim, "softmax"));
  return record("softmax", y, {{x, [y, dim](const Array& g) {  // (diag(y) - y y^T) g
                                  const Array gy = g * y;
                                  return gy - y * sum(gy, dim, KeepDim::yes);
                                }}});
}

}  // namespace autograd
