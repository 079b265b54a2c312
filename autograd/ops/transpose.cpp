#include "autograd/array/layout.h"
#include "autograd/ops.h"

namespace autograd {

Tensor transpose(const Tensor& x, int dim0, int dim1) {
  if (x.rank() == 0) return transpose(x.reshape({1}), dim0, dim1).reshape(Shape{});
  return record("transpose", transpose(x.data(), dim0, dim1),
                {{x, [dim0, dim1](const Array& g) { return transpose(g, dim0, dim1); }}});
}

}  // namespace autograd
