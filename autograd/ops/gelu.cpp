#include <numbers>

#include "autograd/array/elementwise.h"
#include "autograd/machine/vector_math.h"
#include "autograd/ops.h"

namespace autograd {

// Hendrycks and Gimpel, "Gaussian error linear units" (2016). With Phi and phi, the distribution
// and the density of N(0, 1):
//
//     gelu(x) = x Phi(x),   gelu'(x) = Phi(x) + x phi(x),
//
// and where Phi is approximated by (1 + tanh(u)) / 2 with u = sqrt(2 / pi) (x + 0.044715 x^3):
//
//     (1 + tanh(u)) / 2 = s = 1 / (1 + exp(-2 u)),
//     gelu(x) = x s,   gelu'(x) = s + x s (1 - s) 2 u'.
//
// Written with s, as 1 + tanh(u) loses its digits where tanh(u) is near -1; and with the
// exponential of -|2 u| alone, e, as s (1 - s) = e / (1 + e)^2 subtracts nothing and no exponential
// overflows.
//
// The slope costs little more than the value, so where a gradient is wanted forward computes both,
// and the rule is a product.
namespace {

template <class T>
struct Point {
  T value, slope;
};

constexpr auto by_erf = [](auto x) -> Point<decltype(x)> {
  const auto normal = vector_math::normal(x);
  return {x * normal.cdf, normal.cdf + x * normal.density};
};

constexpr auto by_tanh = [](auto x) -> Point<decltype(x)> {
  using T = decltype(x);
  constexpr double kSqrtTwoOverPi = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;
  constexpr double kCubic = 0.044715;
  const T twice_u = T(2 * kSqrtTwoOverPi) * (x + T(kCubic) * x * x * x);
  const T e = vector_math::exp(twice_u < T(0) ? twice_u : -twice_u);
  const T share = T(1) / (T(1) + e);
  const T s = twice_u < T(0) ? e * share : share;
  const T bend =
      e == T(0) ? T(0)  // x * x may be infinite here
                : x * (e * share * share) * T(2 * kSqrtTwoOverPi) * (T(1) + T(3 * kCubic) * x * x);
  return {x * s, s + bend};
};

template <class T, class F>
void fill(F f, const T* x, T* value, T* slope, Index n) {
  for (Index i = 0; i < n; ++i) {
    const Point<T> p = f(x[i]);
    value[i] = p.value;
    slope[i] = p.slope;
  }
}

// The same, for the form and type that training spends its time in. The compiler makes versions for
// several instruction sets of a plain function only, not of a template.
GRADLAB_WIDEST void fill(decltype(by_erf) f, const float* x, float* value, float* slope, Index n) {
  for (Index i = 0; i < n; ++i) {
    const Point<float> p = f(x[i]);
    value[i] = p.value;
    slope[i] = p.slope;
  }
}

/// The values of f, and into `slopes` its derivatives.
template <class T, class F>
Array values_and_slopes(const Array& a, Array& slopes, F f) {
  const T* x = a.read<T>().data();
  return Array::build<T>(a.shape(), [&](std::span<T> y) {
    slopes = Array::build<T>(a.shape(), [&](std::span<T> slope) {
      parallel_for(a.numel(), elements_per_piece(), [&](Index begin, Index end) {
        fill(f, x + begin, y.data() + begin, slope.data() + begin, end - begin);
      });
    });
  });
}

template <class F>
Tensor gelu_by(F f, const char* op, const Tensor& x) {
  const Array d = x.data();
  const bool wanted = x.requires_grad() && grad_enabled();
  Array slopes;
  Array y = dispatch_float(d.dtype(), op, [&](auto tag) {
    if (wanted) return values_and_slopes<decltype(tag)>(d, slopes, f);
    return map(d, op, [f](auto v) { return f(v).value; });
  });
  return record(op, std::move(y), {{x, [slopes](const Array& g) { return g * slopes; }}});
}

}  // namespace

Tensor gelu(const Tensor& x, Gelu form) {
  return form == Gelu::erf ? gelu_by(by_erf, "gelu_erf", x) : gelu_by(by_tanh, "gelu_tanh", x);
}

}  // namespace autograd
