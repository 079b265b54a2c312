#include "autograd/array/elementwise.h"
#include "autograd/array/functions.h"
#include "autograd/ops.h"

namespace autograd {

Tensor sin(const Tensor& x) {
  const Array d = x.data();
  return record("sin", sin(d), {{x, [d](const Array& g) { return g * cos(d); }}});
}

}  // namespace autograd
