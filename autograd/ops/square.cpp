#include "autograd/array/elementwise.h"
#include "autograd/ops.h"

namespace autograd {

Tensor square(const Tensor& x) {
  const Array d = x.data();
  const Array y = map(d, "square", [](auto v) { return v * v; });
  return record("square", y, {{x, [d](const Array& g) { return g * (d * 2.0); }}});
}

}  // namespace autograd
