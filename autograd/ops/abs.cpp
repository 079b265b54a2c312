#include "autograd/array/elementwise.h"
#include "autograd/array/functions.h"
#include "autograd/ops.h"

namespace autograd {

Tensor abs(const Tensor& x) {
  const Array d = x.data();
  return record("abs", abs(d), {{x, [d](const Array& g) { return g * sign(d); }}});
}

}  // namespace autograd
