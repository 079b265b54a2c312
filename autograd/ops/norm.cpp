#include "autograd/array/elementwise.h"
#include "autograd/array/reduce.h"
#include "autograd/ops.h"

namespace autograd {

Tensor norm(const Tensor& x) {
  const Array d = x.data();
  const double n = euclidean_norm(d);
  const auto unit = [d, n](const Array& g) {  // x / |x|, 0 at the origin
    return g * map(d, "norm", [n](auto v) {
             return static_cast<decltype(v)>(n == 0 ? 0.0 : static_cast<double>(v) / n);
           });
  };
  return record("norm", Array::scalar(n, d.dtype()), {{x, unit}});
}

}  // namespace autograd
