#include <cmath>

#include "autograd/array/elementwise.h"
#include "autograd/ops.h"

namespace autograd {

Tensor clamp(const Tensor& x, double lo, double hi) {
  if (std::isnan(lo) || std::isnan(hi)) {
    fail<ValueError>("clamp: expected bounds that are numbers, got {} and {}", lo, hi);
  }
  const Array d = x.data();
  const Array y = map(d, "clamp", [lo, hi](auto v) {
    using T = decltype(v);
    const T raised = v < T(lo) ? T(lo) : v;  // false for NaN, which stays
    return raised > T(hi) ? T(hi) : raised;
  });
  return record("clamp", y, {{x, [d, lo, hi](const Array& g) {
                                return zip(g, d, "clamp", [lo, hi](auto u, auto v) {
                                  using T = decltype(v);
                                  return v < T(lo) || v > T(hi) ? T(0) : u;  // at NaN it passes
                                });
                              }}});
}

}  // namespace autograd
