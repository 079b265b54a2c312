#include "autograd/array/elementwise.h"
#include "autograd/array/functions.h"
#include "autograd/ops.h"

namespace autograd {

// log sum exp(x) = m + log sum exp(x - m), with m the maximum, so that no exponent is above 0; or
// m = 0 where the maximum is infinite or there is none. The gradient is softmax(x), whose two
// parts, exp(x - m) and its sum, are there already.
Tensor logsumexp(const Tensor& x, Dims dims, KeepDim keep) {
  const Array d = x.data();
  check_float(d, "logsumexp");
  const Axes axes = Axes::of(d.shape(), dims, "logsumexp");
  const Shape kept = reduced(d.shape(), axes, KeepDim::yes);
  const bool some = reduced_count(d.shape(), axes) > 0;
  const Array top = some ? max(d, axes, KeepDim::yes) : Array::zeros(kept, d.dtype());
  const Array m = map(top, "logsumexp", [](auto v) { return v - v == 0 ? v : decltype(v)(0); });
  const Array e = exp(d - m), total = sum(e, axes, KeepDim::yes);
  return record("logsumexp", (log(total) + m).reshape(reduced(d.shape(), axes, keep)),
                {{x, [e, total, kept](const Array& g) { return g.reshape(kept) * (e / total); }}});
}

}  // namespace autograd
