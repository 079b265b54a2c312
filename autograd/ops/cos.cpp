#include "autograd/array/elementwise.h"
#include "autograd/array/functions.h"
#include "autograd/ops.h"

namespace autograd {

Tensor cos(const Tensor& x) {
  const Array d = x.data();
  return record("cos", cos(d), {{x, [d](const Array& g) { return -(g * sin(d)); }}});
}

}  // namespace autograd
