#include "autograd/array/elementwise.h"
#include "autograd/array/functions.h"
#include "autograd/ops.h"

namespace autograd {

Tensor exp(const Tensor& x) {
  const Array y = exp(x.data());
  return record("exp", y, {{x, [y](const Array& g) { return g * y; }}});
}

}  // namespace autograd
