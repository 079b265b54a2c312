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
  const Array n = Array::scalar(euclidean(d), d.dtype());
  return record("norm", n, {{x, [d, n](const Array& g) {
                               return n.at(0) == 0 ? Array::zeros(d.shape(), d.dtype()) : d / n * g;
                             }}});
}

}  // namespace autograd
