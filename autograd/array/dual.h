#pragma once

#include <cmath>
#include <limits>
#include <type_traits>

#include "autograd/machine/vector_math.h"

namespace autograd {

/// A dual number, value + tangent e with e^2 = 0 (Clifford 1873): a number and its derivative along
/// one direction, which arithmetic carries forward side by side. Kernels are templates in the
/// element type, so with this one they compute derivatives, exact to rounding, and in backward
/// those of gradients: second derivatives.
///
/// A plain number is a constant, with tangent 0, and a constant stays one: a tangent of 0 adds
/// nothing, even where the factor beside it is infinite. Comparisons look at values alone. There is
/// no way back to a double but the members.
struct Dual {
  double value, tangent;

  Dual() = default;
  constexpr Dual(double v, double t = 0) : value(v), tangent(t) {}
  constexpr explicit operator bool() const { return value != 0; }

  Dual& operator+=(Dual b) { return *this = {value + b.value, tangent + b.tangent}; }
  Dual& operator-=(Dual b) { return *this = {value - b.value, tangent - b.tangent}; }
  Dual& operator*=(Dual b);
  Dual& operator/=(Dual b);
};

/// slope * tangent, 0 where the tangent is.
inline double along(double slope, double tangent) { return tangent == 0 ? 0 : slope * tangent; }

inline Dual operator+(Dual a, Dual b) { return a += b; }
inline Dual operator-(Dual a, Dual b) { return a -= b; }
inline Dual operator-(Dual a) { return {-a.value, -a.tangent}; }
inline Dual operator*(Dual a, Dual b) {
  return {a.value * b.value, along(a.value, b.tangent) + along(b.value, a.tangent)};
}
inline Dual operator/(Dual a, Dual b) {
  const double q = a.value / b.value, t = a.tangent - along(q, b.tangent);
  return {q, t == 0 ? 0 : t / b.value};
}
inline Dual& Dual::operator*=(Dual b) { return *this = *this * b; }
inline Dual& Dual::operator/=(Dual b) { return *this = *this / b; }

inline bool operator==(Dual a, Dual b) { return a.value == b.value; }
inline bool operator!=(Dual a, Dual b) { return a.value != b.value; }
inline bool operator<(Dual a, Dual b) { return a.value < b.value; }
inline bool operator<=(Dual a, Dual b) { return a.value <= b.value; }
inline bool operator>(Dual a, Dual b) { return a.value > b.value; }
inline bool operator>=(Dual a, Dual b) { return a.value >= b.value; }

// Generic code calls them as `using std::sqrt; sqrt(x)`.
inline Dual abs(Dual x) {  // derivative 0 at 0, as that of the op
  return {std::abs(x.value), x.value > 0 ? x.tangent : x.value < 0 ? -x.tangent : 0};
}
inline Dual sqrt(Dual x) {
  const double y = std::sqrt(x.value);
  return {y, along(0.5 / y, x.tangent)};
}
inline Dual log(Dual x) { return {std::log(x.value), along(1 / x.value, x.tangent)}; }
inline Dual log1p(Dual x) { return {std::log1p(x.value), along(1 / (1 + x.value), x.tangent)}; }
inline Dual exp(Dual x) { return {std::exp(x.value), along(std::exp(x.value), x.tangent)}; }
inline Dual sin(Dual x) { return {std::sin(x.value), along(std::cos(x.value), x.tangent)}; }
inline Dual cos(Dual x) { return {std::cos(x.value), along(-std::sin(x.value), x.tangent)}; }
inline Dual tanh(Dual x) {
  const double y = std::tanh(x.value);
  return {y, along(1 - y * y, x.tangent)};
}

/// Whether x is 0 and stays 0; of a dual number, whether it is the constant 0.
template <class T>
bool is_constant_zero(T x) {
  if constexpr (std::is_same_v<T, Dual>) return x.value == 0 && x.tangent == 0;
  else return x == T(0);
}

/// d(a^b)/da = b a^(b - 1), and 0 rather than 0 * inf for the constant a^0.
template <class T>
T pow_slope_in_base(T a, T b) {
  using std::pow;
  return is_constant_zero(b) ? T(0) : b * pow(a, b - T(1));
}

/// d(a^b)/db = a^b ln a. At a = 0 with b >= 0 the value does not change with b > 0: the slope is 0.
template <class T>
T pow_slope_in_exponent(T a, T b) {
  using std::log, std::pow;
  return a == T(0) && b >= T(0) ? T(0) : pow(a, b) * log(a);
}

inline Dual pow(Dual a, Dual b) {
  const double t = a.tangent == 0 ? 0 : pow_slope_in_base(a.value, b.value) * a.tangent;
  const double u = b.tangent == 0 ? 0 : pow_slope_in_exponent(a.value, b.value) * b.tangent;
  return {std::pow(a.value, b.value), t + u};
}

/// What sums of T accumulate in: double, or dual numbers of them.
template <class T>
using Wide = std::conditional_t<std::is_same_v<T, Dual>, Dual, double>;

/// The number without its tangent.
inline double value_of(double x) { return x; }
inline double value_of(Dual x) { return x.value; }

namespace vector_math {

inline Dual exp(Dual x) {
  const double y = exp(x.value);
  return {y, along(y, x.tangent)};
}
inline Dual tanh(Dual x) {
  const double e = exp(-2 * std::abs(x.value)), share = 1 / (1 + e);
  return {tanh(x.value), 4 * e * share * share * x.tangent};  // 1 - y^2, which y = 1 would make 0
}
inline Normal<Dual> normal(Dual x) {
  const Normal<double> n = normal(x.value);
  return {{n.cdf, n.density * x.tangent}, {n.density, along(-x.value * n.density, x.tangent)}};
}

}  // namespace vector_math
}  // namespace autograd

/// Those of the values.
template <>
class std::numeric_limits<autograd::Dual> : public std::numeric_limits<double> {};
