#include <algorithm>

#include "autograd/array/elementwise.h"
#include "autograd/ops.h"

namespace autograd {

// Deviations from the mean first, then their squares: the difference of the mean square and the
// squared mean would lose all digits where the mean is large. With d_i = x_i - mean, the gradient
// is 2 d_i / (n - correction), as what the mean adds to it is a multiple of sum(d) = 0.
Tensor var(const Tensor& x, Dims dims, KeepDim keep, double correction) {
  check_float(x.data(), "var");
  const Shape from = x.shape();
  const Axes axes = Axes::of(from, dims, "var");
  const Shape kept = reduced(from, axes, KeepDim::yes);
  const auto count = static_cast<double>(reduced_count(from, axes));
  const double divisor = std::max(0.0, count - correction);
  // In f64, as a mean that is rounded to f32 would make deviations of equal elements.
  const Array wide = x.dtype() == DType::f32 ? x.data().to(DType::f64) : x.data();
  const Array deviation = wide - sum(wide, axes, KeepDim::yes) / count;
  const Array y = sum(deviation * deviation, axes, keep) / divisor;
  const Array slope = (deviation * (2 / divisor)).to(x.dtype());
  return record("var", y.to(x.dtype()),
                {{x, [slope, kept](const Array& g) { return g.reshape(kept) * slope; }}});
}

}  // namespace autograd
