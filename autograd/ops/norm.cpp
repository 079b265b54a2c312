#include <cmath>

#include "autograd/array/elementwise.h"
#include "autograd/ops.h"

namespace autograd {

Tensor norm(const Tensor& x) {
  const Array d = x.data();
  const Array n = map(sum(d * d), "norm", [](auto v) { return std::sqrt(v); });
  return record("norm", n, {{x, [d, n](const Array& g) {
                               return n.at(0) == 0 ? Array::zeros(d.shape(), d.dtype()) : g * d / n;
                             }}});
}

}  // namespace autograd
