#include <cmath>

#include "autograd/array/elementwise.h"
#include "autograd/ops.h"

namespace autograd {

namespace {

// b a^(b - 1), and 0 rather than 0 * inf for the constant a^0.
template <class T>
T slope_in_base(T a, T b) {
  return b == T(0) ? T(0) : b * std::pow(a, b - T(1));
}

// a^b ln a. At a = 0 with b >= 0 the value does not change with b > 0: the slope is 0.
template <class T>
T slope_in_exponent(T a, T b) {
  return a == T(0) && b >= T(0) ? T(0) : std::pow(a, b) * std::log(a);
}

}  // namespace

Tensor pow(const Tensor& a, const Tensor& b) {
  const Array x = a.data(), y = b.data();
  const Array z = zip(x, y, "pow", [](auto u, auto v) { return std::pow(u, v); });
  return record("pow", z,
                {{a,
                  [x, y](const Array& g) {
                    return g * zip(x, y, "pow", [](auto u, auto v) { return slope_in_base(u, v); });
                  }},
                 {b, [x, y](const Array& g) {
                    return g *
                           zip(x, y, "pow", [](auto u, auto v) { return slope_in_exponent(u, v); });
                  }}});
}

Tensor pow(const Tensor& x, double exponent) {
  const Array d = x.data();
  const Array z =
      map(d, "pow", [exponent](auto u) { return std::pow(u, static_cast<decltype(u)>(exponent)); });
  return record("pow", z, {{x, [d, exponent](const Array& g) {
                              return g * map(d, "pow", [exponent](auto u) {
                                       return slope_in_base(u, static_cast<decltype(u)>(exponent));
                                     });
                            }}});
}

}  // namespace autograd
