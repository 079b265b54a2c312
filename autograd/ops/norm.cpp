#include <cmath>

#include "autograd/array/elementwise.h"
#include "autograd/ops.h"

namespace autograd {
namespace {

// The elements over the largest of them, so that no square overflows or vanishes.
double euclidean(const Array& x) {
  const Array size = map(x, "norm", [](auto v) { return std::abs(v); });
  const double top =
      x.numel() == 0 ? 0 : max(size, Axes::of(x.shape(), {}, "norm"), KeepDim::no).at(0);
  if (top == 0 || !std::isfinite(top)) return top;
  double total = 0;
  dispatch_float(x.dtype(), "norm", [&](auto tag) {
    for (const auto v : x.read<decltype(tag)>()) {
      const double r = static_cast<double>(v) / top;
      total += r * r;
    }
  });
  return top * std::sqrt(total);
}

}  // namespace

Tensor norm(const Tensor& x) {
  const Array d = x.data();
  const double n = euclidean(d);
  const auto unit = [d, n](const Array& g) {  // x / |x|, 0 at the origin
    return g * map(d, "norm", [n](auto v) {
             return static_cast<decltype(v)>(n == 0 ? 0.0 : static_cast<double>(v) / n);
           });
  };
  return record("norm", Array::scalar(n, d.dtype()), {{x, unit}});
}

}  // namespace autograd
