#include "autograd/array/elementwise.h"
#include "autograd/ops.h"

namespace autograd {

Tensor where(const Tensor& mask, const Tensor& a, const Tensor& b) {
  const Array m = mask.data();
  const Array zero = Array::scalar(0, a.dtype());
  return record("where", where(m, a.data(), b.data()),
                {{a, [m, zero](const Array& g) { return where(m, g, zero); }},
                 {b, [m, zero](const Array& g) { return where(m, zero, g); }}});
}

}  // namespace autograd
