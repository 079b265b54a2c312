#include "autograd/array/elementwise.h"
#include "autograd/array/functions.h"
#include "autograd/array/softmax.h"
#include "autograd/ops.h"

namespace autograd {

// y_i = x_i - log sum_j exp(x_j), so dy_i/dx_j = [i = j] - p_j with p = softmax(x) = exp(y), and
// the gradient of x is g - p sum(g).
Tensor log_softmax(const Tensor& x, int dim) {
  if (x.rank() == 0) return log_softmax(x.reshape({1}), dim).reshape(Shape{});
  const Array y = log_softmax(x.data(), x.shape().axis(dim, "log_softmax"));
  return record("log_softmax", y,
                {{x, [y, dim](const Array& g) { return g - exp(y) * sum(g, dim, KeepDim::yes); }}});
}

}  // namespace autograd
