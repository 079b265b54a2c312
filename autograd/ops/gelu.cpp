#include <cmath>
#include <numbers>

#include "autograd/array/elementwise.h"
#include "autograd/ops.h"

namespace autograd {

// Hendrycks and Gimpel, "Gaussian error linear units" (2016): x Phi(x), and the approximation of
// Phi by 0.5 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))).
namespace {

constexpr double kSqrtHalf = std::numbers::sqrt2 / 2;
constexpr double kSqrtTwoOverPi = kSqrtHalf * 2 * std::numbers::inv_sqrtpi;
constexpr double kCubic = 0.044715;

template <class T>
T normal_cdf(T x) {
  return T(0.5) * std::erfc(-x * T(kSqrtHalf));
}

template <class T>
T erf_slope(T x) {
  const T density = T(kSqrtHalf * std::numbers::inv_sqrtpi) * std::exp(T(-0.5) * x * x);
  return normal_cdf(x) + x * density;
}

template <class T>
T inner_tanh(T x) {
  return std::tanh(T(kSqrtTwoOverPi) * (x + T(kCubic) * x * x * x));
}

template <class T>
T tanh_slope(T x) {
  const T t = inner_tanh(x), flat = T(1) - t * t;
  const T bend = flat == T(0) ? T(0)  // x * x may be infinite here
                              : flat * T(kSqrtTwoOverPi) * (T(1) + T(3 * kCubic) * x * x);
  return T(0.5) * (T(1) + t) + T(0.5) * x * bend;
}

}  // namespace

Tensor gelu(const Tensor& x, Gelu form) {
  const Array d = x.data();
  if (form == Gelu::erf) {
    return record("gelu_erf", map(d, "gelu_erf", [](auto v) { return v * normal_cdf(v); }),
                  {{x, [d](const Array& g) {
                      return g * map(d, "gelu_erf", [](auto v) { return erf_slope(v); });
                    }}});
  }
  return record("gelu_tanh",
                map(d, "gelu_tanh",
                    [](auto v) {
                      using T = decltype(v);
                      return T(0.5) * v * (T(1) + inner_tanh(v));
                    }),
                {{x, [d](const Array& g) {
                    return g * map(d, "gelu_tanh", [](auto v) { return tanh_slope(v); });
                  }}});
}

}  // namespace autograd
