#include "autograd/array/elementwise.h"
#include "autograd/ops.h"

namespace autograd {

Tensor sub(const Tensor& a, const Tensor& b) {
  return record("sub", a.data() - b.data(),
                {{a, [](const Array& g) { return g; }}, {b, [](const Array& g) { return -g; }}});
}

}  // namespace autograd
