#include "autograd/array/softmax.h"

#include "autograd/ops.h"

namespace autograd {

Tensor softmax(const Tensor& x, int dim) {
  if (x.rank() == 0) return softmax(x.reshape({1}), dim).reshape(Shape{});
  const int axis = x.shape().axis(dim, "softmax");
  const Array y = softmax(x.data(), axis);
  return record("softmax", y,
                {{x, [y, axis](const Array& g) { return softmax_backward(y, g, axis); }}});
}

}  // namespace autograd
