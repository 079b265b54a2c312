#include "autograd/ops/softmax.h"

#include "autograd/array/rows.h"
#include "autograd/array/softmax.h"
#include "autograd/machine/lanes.h"
#include "autograd/ops.h"

namespace autograd {

// y_i = exp(x_i) / sum_j exp(x_j), computed as exp(x_i - max) / sum_j exp(x_j - max): the factor
// exp(-max) cancels, and no exponent is above 0.
//
// Its derivative, for i = j and i != j in one: dy_i/dx_j = y_i ([i = j] - y_j). As a matrix that is
// diag(y) - y y^T, which is symmetric, so that a gradient g of y becomes, for x,
//
//     (diag(y) - y y^T) g  =  y * g - y (y . g)  =  y * (g - (y . g)).
//
// Where one y is 1 and the others are 0, all of it is 0: a saturated row learns nothing.

Tensor softmax(const Tensor& x, int dim) {
  if (x.rank() == 0) return softmax(x.reshape({1}), dim).reshape(Shape{});
  const int axis = x.shape().axis(dim, "softmax");
  const Array y = softmax(x.data(), axis);  // row by row as above, in array/softmax.cpp
  return record("softmax", y,
                {{x, [y, axis](const Array& g) { return softmax_backward(y, g, axis); }}});
}

Array softmax_backward(const Array& y, const Array& g, int axis) {
  return zip_rows(y, g, axis, "softmax", [](const auto* p, const auto* grad, auto* dx, Index n) {
    using T = std::remove_reference_t<decltype(*dx)>;
    const T dot = static_cast<T>(sum_of(n, [p, grad](Index i) { return p[i] * grad[i]; }));
    for (Index i = 0; i < n; ++i) dx[i] = p[i] * (grad[i] - dot);  // (diag(y) - y y^T) g
  });
}

}  // namespace autograd
