#include "autograd/array/elementwise.h"
#include "autograd/array/functions.h"
#include "autograd/ops.h"

namespace autograd {

Tensor sqrt(const Tensor& x) {
  const Array y = sqrt(x.data());
  return record("sqrt", y, {{x, [y](const Array& g) { return g / (y * 2.0); }}});
}

}  // namespace autograd
