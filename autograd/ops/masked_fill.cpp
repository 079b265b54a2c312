#include "autograd/array/elementwise.h"
#include "autograd/array/reduce.h"
#include "autograd/ops.h"

namespace autograd {

Tensor masked_fill(const Tensor& x, const Tensor& mask, double value) {
  check_mask(mask.data(), "masked_fill");
  check_float(x.data(), "masked_fill");
  const Shape from = x.shape();
  (void)broadcast(from, mask.shape(), "masked_fill: x and mask");
  const Array m = mask.data();
  const Array fill = Array::scalar(value, x.dtype()), zero = Array::scalar(0, x.dtype());
  Input input[] = {
      {x, [m, zero, from](const Array& g) { return sum_to(where(m, zero, g), from); }}};
  return record("masked_fill", where(m, fill, x.data()), input, Fills::yes);
}

}  // namespace autograd
