#pragma once

#include <type_traits>

#include "autograd/tensor.h"

namespace autograd {

/// A number beside a tensor, which takes the tensor's dtype; but in arithmetic with i64 a number of
/// a floating type makes f32 of both, as in PyTorch: arange(3) * 2 is i64, arange(3) * 0.5 is f32.
class Scalar {
 public:
  template <class T>
  requires std::is_arithmetic_v<T>
  constexpr Scalar(T v)
      : value_(static_cast<double>(v)),
        integer_(std::is_integral_v<T> ? static_cast<std::int64_t>(v) : 0),
        is_integer_(std::is_integral_v<T>) {}
  constexpr double value() const { return value_; }
  constexpr bool is_integer() const { return is_integer_; }
  constexpr std::int64_t integer() const { return integer_; }  // if it is one

 private:
  double value_;
  std::int64_t integer_;
  bool is_integer_;
};

// --- add, sub, mul, div and neg
Tensor operator+(const Tensor& a, const Tensor& b);
Tensor operator-(const Tensor& a, const Tensor& b);
Tensor operator*(const Tensor& a, const Tensor& b);
Tensor operator/(const Tensor& a, const Tensor& b);
Tensor operator-(const Tensor& x);
Tensor operator+(const Tensor& x, Scalar s);
Tensor operator+(Scalar s, const Tensor& x);
Tensor operator-(const Tensor& x, Scalar s);
Tensor operator-(Scalar s, const Tensor& x);
Tensor operator*(const Tensor& x, Scalar s);
Tensor operator*(Scalar s, const Tensor& x);
Tensor operator/(const Tensor& x, Scalar s);  // exactly x / s, not x * (1 / s)
Tensor operator/(Scalar s, const Tensor& x);
Tensor operator%(const Tensor& a, const Tensor& b);  // remainder
Tensor operator%(const Tensor& x, std::int64_t n);

// --- x = x + y and so on: this handle gets the result, and other handles keep the value they had,
// as if no two shared it. An exception is a leaf that requires a gradient. Under NoGrad its value
// changes in place, for all handles, as in the step w -= lr * w.grad(); GraphError elsewhere.
Tensor& operator+=(Tensor& x, const Tensor& y);
Tensor& operator-=(Tensor& x, const Tensor& y);
Tensor& operator*=(Tensor& x, const Tensor& y);
Tensor& operator/=(Tensor& x, const Tensor& y);
Tensor& operator+=(Tensor& x, Scalar s);
Tensor& operator-=(Tensor& x, Scalar s);
Tensor& operator*=(Tensor& x, Scalar s);
Tensor& operator/=(Tensor& x, Scalar s);

// --- eq, ne, lt, le, gt and ge: masks (b8), elementwise, so `if (a == b)` does not compile. A
// number is compared as such with i64 and b8, and rounded to f32 beside f32.
Tensor operator==(const Tensor& a, const Tensor& b);
Tensor operator!=(const Tensor& a, const Tensor& b);
Tensor operator<(const Tensor& a, const Tensor& b);
Tensor operator<=(const Tensor& a, const Tensor& b);
Tensor operator>(const Tensor& a, const Tensor& b);
Tensor operator>=(const Tensor& a, const Tensor& b);
Tensor operator==(const Tensor& x, Scalar s);
Tensor operator!=(const Tensor& x, Scalar s);
Tensor operator<(const Tensor& x, Scalar s);
Tensor operator<=(const Tensor& x, Scalar s);
Tensor operator>(const Tensor& x, Scalar s);
Tensor operator>=(const Tensor& x, Scalar s);
Tensor operator==(Scalar s, const Tensor& x);
Tensor operator!=(Scalar s, const Tensor& x);
Tensor operator<(Scalar s, const Tensor& x);
Tensor operator<=(Scalar s, const Tensor& x);
Tensor operator>(Scalar s, const Tensor& x);
Tensor operator>=(Scalar s, const Tensor& x);

// --- logical_and, logical_or and logical_not
Tensor operator&(const Tensor& a, const Tensor& b);
Tensor operator|(const Tensor& a, const Tensor& b);
Tensor operator~(const Tensor& mask);

}  // namespace autograd
