#include "autograd/operators.h"

#include <cmath>
#include <functional>

#include "autograd/array/elementwise.h"
#include "autograd/ops.h"

namespace autograd {
namespace {

Array integer_array(std::int64_t n) {
  return Array::build<std::int64_t>({}, [n](std::span<std::int64_t> x) { x[0] = n; });
}

// A sum or product with a number: of floats, or of integers x.
using WithNumber = Tensor (*)(const Tensor& x, double s);
using WithTensor = Tensor (*)(const Tensor& x, const Tensor& s);
Tensor with_number(const Tensor& x, Scalar s, WithNumber of_floats, WithTensor of_integers) {
  if (x.dtype() != DType::i64) return of_floats(x, s.value());
  if (s.is_integer()) return of_integers(x, Tensor(integer_array(s.integer())));
  return of_floats(to(x, DType::f32), s.value());
}

Tensor unshift(const Tensor& x, double s) { return shift(x, -s); }

// x and s so that comparing them is exact, but for the rounding of s to f32 beside f32.
Pair comparable(const Array& x, Scalar s) {
  if (is_float(x.dtype())) return {x, Array::scalar(s.value(), x.dtype())};
  const Array integers = x.to(DType::i64);
  if (s.is_integer()) return {integers, integer_array(s.integer())};
  const double v = s.value();
  if (std::abs(v) >= 0x1p63) {  // beyond all integers, and their rounding
    return {integers.to(DType::f64), Array::scalar(std::copysign(INFINITY, v), DType::f64)};
  }
  if (v == std::floor(v)) return {integers, integer_array(static_cast<std::int64_t>(v))};
  return {integers.to(DType::f64), Array::scalar(v, DType::f64)};
}

template <class Predicate>
Tensor compare_number(const char* op, const Tensor& x, Scalar s, Predicate predicate) {
  const Pair pair = comparable(x.data(), s);
  return record(op, compare(pair.a, pair.b, op, predicate), {{x, {}}});
}

// The result of an operator that assigns.
Tensor& assign(Tensor& x, const Tensor& result) {
  if (!x.is_leaf() || !x.requires_grad()) return x = result;
  if (grad_enabled()) {
    fail<GraphError>(
        "{}: a leaf that requires a gradient is not assigned to while ops are recorded, as its own "
        "gradient would be out of reach; update it under NoGrad, or name the result anew",
        result.op());
  }
  x.set_data(result.data());
  return x;
}

}  // namespace

Tensor operator+(const Tensor& a, const Tensor& b) { return add(a, b); }
Tensor operator-(const Tensor& a, const Tensor& b) { return sub(a, b); }
Tensor operator*(const Tensor& a, const Tensor& b) { return mul(a, b); }
Tensor operator/(const Tensor& a, const Tensor& b) { return div(a, b); }
Tensor operator-(const Tensor& x) { return neg(x); }
Tensor operator+(const Tensor& x, Scalar s) { return with_number(x, s, shift, add); }
Tensor operator+(Scalar s, const Tensor& x) { return x + s; }
Tensor operator-(const Tensor& x, Scalar s) { return with_number(x, s, unshift, sub); }
Tensor operator-(Scalar s, const Tensor& x) { return neg(x) + s; }
Tensor operator*(const Tensor& x, Scalar s) { return with_number(x, s, scale, mul); }
Tensor operator*(Scalar s, const Tensor& x) { return x * s; }
Tensor operator%(const Tensor& a, const Tensor& b) { return remainder(a, b); }
Tensor operator%(const Tensor& x, std::int64_t n) { return remainder(x, n); }

Tensor& operator+=(Tensor& x, const Tensor& y) { return assign(x, x + y); }
Tensor& operator-=(Tensor& x, const Tensor& y) { return assign(x, x - y); }
Tensor& operator*=(Tensor& x, const Tensor& y) { return assign(x, x * y); }
Tensor& operator/=(Tensor& x, const Tensor& y) { return assign(x, x / y); }
Tensor& operator+=(Tensor& x, Scalar s) { return assign(x, x + s); }
Tensor& operator-=(Tensor& x, Scalar s) { return assign(x, x - s); }
Tensor& operator*=(Tensor& x, Scalar s) { return assign(x, x * s); }
Tensor& operator/=(Tensor& x, Scalar s) { return assign(x, x / s); }

Tensor operator==(const Tensor& a, const Tensor& b) { return eq(a, b); }
Tensor operator!=(const Tensor& a, const Tensor& b) { return ne(a, b); }
Tensor operator<(const Tensor& a, const Tensor& b) { return lt(a, b); }
Tensor operator<=(const Tensor& a, const Tensor& b) { return le(a, b); }
Tensor operator>(const Tensor& a, const Tensor& b) { return gt(a, b); }
Tensor operator>=(const Tensor& a, const Tensor& b) { return ge(a, b); }
Tensor operator==(const Tensor& x, Scalar s) {
  return compare_number("eq", x, s, std::equal_to<>());
}
Tensor operator!=(const Tensor& x, Scalar s) {
  return compare_number("ne", x, s, std::not_equal_to<>());
}
Tensor operator<(const Tensor& x, Scalar s) { return compare_number("lt", x, s, std::less<>()); }
Tensor operator<=(const Tensor& x, Scalar s) {
  return compare_number("le", x, s, std::less_equal<>());
}
Tensor operator>(const Tensor& x, Scalar s) { return compare_number("gt", x, s, std::greater<>()); }
Tensor operator>=(const Tensor& x, Scalar s) {
  return compare_number("ge", x, s, std::greater_equal<>());
}
Tensor operator==(Scalar s, const Tensor& x) { return x == s; }
Tensor operator!=(Scalar s, const Tensor& x) { return x != s; }
Tensor operator<(Scalar s, const Tensor& x) { return x > s; }
Tensor operator<=(Scalar s, const Tensor& x) { return x >= s; }
Tensor operator>(Scalar s, const Tensor& x) { return x < s; }
Tensor operator>=(Scalar s, const Tensor& x) { return x <= s; }

Tensor operator&(const Tensor& a, const Tensor& b) { return logical_and(a, b); }
Tensor operator|(const Tensor& a, const Tensor& b) { return logical_or(a, b); }
Tensor operator~(const Tensor& mask) { return logical_not(mask); }

}  // namespace autograd
