#include "autograd/array/elementwise.h"
#include "autograd/ops.h"

namespace autograd {

Tensor div(const Tensor& a, const Tensor& b) {
  const Array x = a.data(), y = b.data();
  if (x.dtype() == DType::i64 && y.dtype() == DType::i64) {
    return div(to(a, DType::f32), to(b, DType::f32));
  }
  const Array z = x / y;
  return record("div", z, {{a, [y](const Array& g) { return g / y; }}, {b, [y, z](const Array& g) {
                                                                          return -(g * z / y);
                                                                        }}});
}

Tensor operator/(const Tensor& x, Scalar s) {
  if (x.dtype() == DType::i64) return to(x, DType::f32) / s;
  const double d = s.value();
  return record("div", x.data() / d, {{x, [d](const Array& g) { return g / d; }}});
}

Tensor operator/(Scalar s, const Tensor& x) {
  if (x.dtype() == DType::i64) return s / to(x, DType::f32);
  const Array d = x.data();
  const Array z =
      map(d, "div", [s = s.value()](auto v) { return static_cast<decltype(v)>(s) / v; });
  return record("div", z, {{x, [d, z](const Array& g) { return -(g * z / d); }}});
}

}  // namespace autograd
