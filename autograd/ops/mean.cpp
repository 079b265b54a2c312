#include "autograd/array/elementwise.h"
#include "autograd/array/layout.h"
#include "autograd/ops.h"

namespace autograd {

Tensor mean(const Tensor& x, std::span<const int> dims, KeepDim keep) {
  check_float(x.data(), "mean");
  const Shape from = x.shape();
  const Axes axes = Axes::of(from, dims, "mean");
  const Shape kept = reduced(from, axes, KeepDim::yes);
  double count = 1;
  for (int i = 0; i < from.rank(); ++i) {
    if (axes.contains(i)) count *= static_cast<double>(from[i]);
  }
  const auto over = [count](const Array& a) {
    return map(a, "mean", [count](auto v) { return v / static_cast<decltype(v)>(count); });
  };
  return record(
      "mean", over(sum(x.data(), axes, keep)),
      {{x, [from, kept, over](const Array& g) { return expand(over(g).reshape(kept), from); }}});
}

Tensor mean(const Tensor& x, std::initializer_list<int> dims, KeepDim keep) {
  return mean(x, std::span<const int>(dims.begin(), dims.size()), keep);
}

}  // namespace autograd
