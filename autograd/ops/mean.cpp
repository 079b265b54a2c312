#include "autograd/array/elementwise.h"
#include "autograd/array/layout.h"
#include "autograd/ops.h"

namespace autograd {

Tensor mean(const Tensor& x, Dims dims, KeepDim keep) {
  const Shape from = x.shape();
  const Axes axes = Axes::of(from, dims, "mean");
  const auto count = static_cast<double>(reduced_count(from, axes));
  const Array total = sum(x.data(), axes, keep);
  if (x.dtype() == DType::b8) {  // a share
    return record("mean", total.to(DType::f64) / count, {{x, {}}});
  }
  check_float(x.data(), "mean");
  const Shape kept = reduced(from, axes, KeepDim::yes);
  return record("mean", total / count, {{x, [from, kept, count](const Array& g) {
                                           return expand((g / count).reshape(kept), from);
                                         }}});
}

}  // namespace autograd
