#include "autograd/array/elementwise.h"
#include "autograd/array/layout.h"
#include "autograd/ops.h"

namespace autograd {

Tensor masked_fill(const Tensor& x, const Tensor& mask, double value) {
  check_mask(mask.data(), "masked_fill");
  const Array m = expand(mask.data(), x.shape());
  const Array fill = Array::scalar(value, x.dtype()), zero = Array::scalar(0, x.dtype());
  Input input[] = {{x, [m, zero](const Array& g) { return where(m, zero, g); }}};
  return record("masked_fill", where(m, fill, x.data()), input, Fills::yes);
}

}  // namespace autograd
