#include "autograd/array/cumsum.h"

#include "autograd/ops.h"

namespace autograd {

// x_j is in every sum y_i from i = j on.
Tensor cumsum(const Tensor& x, int dim) {
  if (x.rank() == 0) return cumsum(x.reshape({1}), dim).reshape(Shape{});
  const int axis = x.shape().axis(dim, "cumsum");
  return record("cumsum", cumsum(x.data(), axis),
                {{x, [axis](const Array& g) { return reverse_cumsum(g, axis); }}});
}

}  // namespace autograd
