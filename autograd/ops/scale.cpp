#include "autograd/array/elementwise.h"
#include "autograd/ops.h"

namespace autograd {

Tensor scale(const Tensor& x, double factor) {
  return record("scale", x.data() * factor, {{x, [factor](const Array& g) { return g * factor; }}});
}

}  // namespace autograd
