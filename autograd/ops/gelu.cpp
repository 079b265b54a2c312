#include <numbers>

#include "autograd/array/elementwise.h"
#include "autograd/machine/vector_math.h"
#include "autograd/ops.h"

namespace autograd {

// Hendrycks and Gimpel, "Gaussian error linear units" (2016): x Phi(x), and the approximation of
// Phi by 0.5 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))). The slope costs little more than the
// value, so forward computes both.
namespace {

template <class T>
struct Point {
  T value, slope;
};

template <class T>
Point<T> by_erf(T x) {
  const vector_math::Normal<T> normal = vector_math::normal(x);
  return {x * normal.cdf, normal.cdf + x * normal.density};
}

template <class T>
Point<T> by_tanh(T x) {
  constexpr double kSqrtTwoOverPi = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;
  constexpr double kCubic = 0.044715;
  const T t = vector_math::tanh(T(kSqrtTwoOverPi) * (x + T(kCubic) * x * x * x));
  const T flat = T(1) - t * t;
  const T bend = flat == T(0) ? T(0)  // x * x may be infinite here
                              : flat * T(kSqrtTwoOverPi) * (T(1) + T(3 * kCubic) * x * x);
  return {T(0.5) * x * (T(1) + t), T(0.5) * (T(1) + t) + T(0.5) * x * bend};
}

struct ByErf {
  template <class T>
  Point<T> operator()(T x) const {
    return by_erf(x);
  }
};
struct ByTanh {
  template <class T>
  Point<T> operator()(T x) const {
    return by_tanh(x);
  }
};

template <class T, class F>
void fill(F f, const T* x, T* value, T* slope, Index n) {
  for (Index i = 0; i < n; ++i) {
    const Point<T> p = f(x[i]);
    value[i] = p.value;
    slope[i] = p.slope;
  }
}

// No template can be GRADLAB_WIDEST.
GRADLAB_WIDEST void fill_f32(ByErf f, const float* x, float* value, float* slope, Index n) {
  for (Index i = 0; i < n; ++i) {
    const Point<float> p = f(x[i]);
    value[i] = p.value;
    slope[i] = p.slope;
  }
}
void fill(ByErf f, const float* x, float* value, float* slope, Index n) {
  fill_f32(f, x, value, slope, n);
}

template <class T, class F>
Array values(const Array& a, F f) {
  return map(a, "gelu",
             [f](auto v) { return static_cast<decltype(v)>(f(static_cast<T>(v)).value); });
}

/// The values of f, and into `slopes` its derivatives.
template <class T, class F>
Array curve(const Array& a, Array& slopes, F f) {
  const T* x = a.read<T>().data();
  return Array::build<T>(a.shape(), [&](std::span<T> y) {
    slopes = Array::build<T>(a.shape(), [&](std::span<T> slope) {
      parallel_for(a.numel(), elements_a_piece(), [&](Index begin, Index end) {
        fill(f, x + begin, y.data() + begin, slope.data() + begin, end - begin);
      });
    });
  });
}

}  // namespace

Tensor gelu(const Tensor& x, Gelu form) {
  const char* op = form == Gelu::erf ? "gelu_erf" : "gelu_tanh";
  const Array d = x.data();
  const bool wanted = x.requires_grad() && grad_enabled();
  Array slopes;
  Array y = dispatch_float(d.dtype(), op, [&](auto tag) {
    using T = decltype(tag);
    const auto run = [&](auto f) { return wanted ? curve<T>(d, slopes, f) : values<T>(d, f); };
    return form == Gelu::erf ? run(ByErf{}) : run(ByTanh{});
  });
  return record(op, std::move(y), {{x, [slopes](const Array& g) { return g * slopes; }}});
}

}  // namespace autograd
