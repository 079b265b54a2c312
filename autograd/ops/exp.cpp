#include "autograd/array/elementwise.h"
#include "autograd/machine/vector_math.h"
#include "autograd/ops.h"

namespace autograd {

Tensor exp(const Tensor& x) {
  const Array y = map(x.data(), "exp", [](auto v) { return vector_math::exp(v); });
  return record("exp", y, {{x, [y](const Array& g) { return g * y; }}});
}

}  // namespace autograd
