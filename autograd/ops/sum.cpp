#include "autograd/array/layout.h"
#include "autograd/ops.h"

namespace autograd {

Tensor sum(const Tensor& x, Dims dims, KeepDim keep) {
  const Shape from = x.shape();
  const Axes axes = Axes::of(from, dims, "sum");
  const Shape kept = reduced(from, axes, KeepDim::yes);
  return record("sum", sum(x.data(), axes, keep),
                {{x, [from, kept](const Array& g) { return expand(g.reshape(kept), from); }}});
}

}  // namespace autograd
