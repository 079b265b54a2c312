#include "autograd/array/elementwise.h"
#include "autograd/ops.h"

namespace autograd {

Tensor div(const Tensor& a, const Tensor& b) {
  const Array x = a.data(), y = b.data();
  const Array z = x / y;
  return record("div", z, {{a, [y](const Array& g) { return g / y; }}, {b, [y, z](const Array& g) {
                                                                          return -(g * z / y);
                                                                        }}});
}

Tensor operator/(const Tensor& x, double s) {
  const auto over = [s](const Array& a) {
    return map(a, "div", [s](auto v) { return v / static_cast<decltype(v)>(s); });
  };
  return record("div", over(x.data()), {{x, over}});
}

Tensor operator/(double s, const Tensor& x) {
  const Array d = x.data();
  const Array z = map(d, "div", [s](auto v) { return static_cast<decltype(v)>(s) / v; });
  return record("div", z, {{x, [d, z](const Array& g) { return -(g * z / d); }}});
}

}  // namespace autograd
