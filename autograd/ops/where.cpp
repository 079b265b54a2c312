#include "autograd/array/elementwise.h"
#include "autograd/ops.h"

namespace autograd {

Tensor where(const Tensor& mask, const Tensor& a, const Tensor& b) {
  const Array m = mask.data();
  const Array zero = Array::scalar(0, a.dtype());
  const Shape from_a = a.shape(), from_b = b.shape();  // the mask may be what broadcasts them
  return record("where", where(m, a.data(), b.data()),
                {{a, [=](const Array& g) { return sum_to(where(m, g, zero), from_a); }},
                 {b, [=](const Array& g) { return sum_to(where(m, zero, g), from_b); }}});
}

}  // namespace autograd
