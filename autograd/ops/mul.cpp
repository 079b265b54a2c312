#include "autograd/array/elementwise.h"
#include "autograd/ops.h"

namespace autograd {

// The engine sums each gradient over what was broadcast.
Tensor mul(const Tensor& a, const Tensor& b) {
  const Array x = a.data(), y = b.data();
  return record(
      "mul", x * y,
      {{a, [y](const Array& g) { return g * y; }}, {b, [x](const Array& g) { return g * x; }}});
}

}  // namespace autograd
