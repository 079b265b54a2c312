#include <cmath>

#include "autograd/array/elementwise.h"
#include "autograd/ops.h"

namespace autograd {

Tensor pow(const Tensor& a, const Tensor& b) {
  const Array x = a.data(), y = b.data();
  const Array z = zip(x, y, "pow", [](auto u, auto v) {
    using std::pow;
    return pow(u, v);
  });
  return record(
      "pow", z,
      {{a,
        [x, y](const Array& g) {
          return g * zip(x, y, "pow", [](auto u, auto v) { return pow_slope_in_base(u, v); });
        }},
       {b, [x, y](const Array& g) {
          return g * zip(x, y, "pow", [](auto u, auto v) { return pow_slope_in_exponent(u, v); });
        }}});
}

Tensor pow(const Tensor& x, double exponent) {
  const Array d = x.data();
  const Array z = map(d, "pow", [exponent](auto u) {
    using std::pow;
    return pow(u, static_cast<decltype(u)>(exponent));
  });
  return record("pow", z, {{x, [d, exponent](const Array& g) {
                              return g * map(d, "pow", [exponent](auto u) {
                                       return pow_slope_in_base(u,
                                                                static_cast<decltype(u)>(exponent));
                                     });
                            }}});
}

Tensor pow(double base, const Tensor& exponent) {
  const Array d = exponent.data();
  const Array z = map(d, "pow", [base](auto u) {
    using std::pow;
    return pow(static_cast<decltype(u)>(base), u);
  });
  return record("pow", z, {{exponent, [d, base](const Array& g) {
                              return g * map(d, "pow", [base](auto u) {
                                       return pow_slope_in_exponent(static_cast<decltype(u)>(base),
                                                                    u);
                                     });
                            }}});
}

}  // namespace autograd
