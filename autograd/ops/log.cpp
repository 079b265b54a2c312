#include "autograd/array/elementwise.h"
#include "autograd/array/functions.h"
#include "autograd/ops.h"

namespace autograd {

Tensor log(const Tensor& x) {
  const Array d = x.data();
  return record("log", log(d), {{x, [d](const Array& g) { return g / d; }}});
}

}  // namespace autograd
