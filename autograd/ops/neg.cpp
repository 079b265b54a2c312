#include "autograd/array/elementwise.h"
#include "autograd/ops.h"

namespace autograd {

Tensor neg(const Tensor& x) {
  return record("neg", -x.data(), {{x, [](const Array& g) { return -g; }}});
}

}  // namespace autograd
