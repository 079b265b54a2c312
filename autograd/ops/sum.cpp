#include "autograd/array/layout.h"
#include "autograd/ops.h"

namespace autograd {

Tensor sum(const Tensor& x, std::span<const int> dims, KeepDim keep) {
  const Shape from = x.shape();
  const Axes axes = Axes::of(from, dims, "sum");
  const Shape kept = reduced(from, axes, KeepDim::yes);
  return record("sum", sum(x.data(), axes, keep),
                {{x, [from, kept](const Array& g) { return expand(g.reshape(kept), from); }}});
}

Tensor sum(const Tensor& x, std::initializer_list<int> dims, KeepDim keep) {
  return sum(x, std::span<const int>(dims.begin(), dims.size()), keep);
}

}  // namespace autograd
