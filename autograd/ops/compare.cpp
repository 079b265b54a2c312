#include <cmath>
#include <functional>

#include "autograd/array/elementwise.h"
#include "autograd/ops.h"

namespace autograd {
namespace {

// Inputs without a rule: no gradient flows through a comparison.
template <class Predicate>
Tensor comparison(const char* op, const Tensor& a, const Tensor& b, Predicate predicate) {
  return record(op, compare(a.data(), b.data(), op, predicate), {{a, {}}, {b, {}}});
}

// |x - y|: of integers without rounding them first, as 2^53 + 1 is no double.
template <class T>
double distance(T x, T y) {
  if constexpr (std::is_integral_v<T>) {
    const auto a = static_cast<std::uint64_t>(x), b = static_cast<std::uint64_t>(y);
    return static_cast<double>(x > y ? a - b : b - a);
  } else {
    return std::abs(static_cast<double>(x) - static_cast<double>(y));
  }
}

template <class T>
bool close(T x, T y, double rtol, double atol) {
  if (x == y) return true;  // equal infinities too
  const auto v = static_cast<double>(y);
  return distance(x, y) <= atol + rtol * std::abs(v) && std::isfinite(v);
}

// Both parts: a tangent is to be compared as much as a value.
bool close(Dual x, Dual y, double rtol, double atol) {
  return close(x.value, y.value, rtol, atol) && close(x.tangent, y.tangent, rtol, atol);
}

}  // namespace

Tensor eq(const Tensor& a, const Tensor& b) { return comparison("eq", a, b, std::equal_to<>()); }
Tensor ne(const Tensor& a, const Tensor& b) {
  return comparison("ne", a, b, std::not_equal_to<>());
}
Tensor lt(const Tensor& a, const Tensor& b) { return comparison("lt", a, b, std::less<>()); }
Tensor le(const Tensor& a, const Tensor& b) { return comparison("le", a, b, std::less_equal<>()); }
Tensor gt(const Tensor& a, const Tensor& b) { return comparison("gt", a, b, std::greater<>()); }
Tensor ge(const Tensor& a, const Tensor& b) {
  return comparison("ge", a, b, std::greater_equal<>());
}

Tensor logical_not(const Tensor& mask) {
  check_mask(mask.data(), "logical_not");
  return record("logical_not",
                compare(mask.data(), Array::scalar(0, DType::b8), "logical_not", std::equal_to<>()),
                {{mask, {}}});
}

Tensor logical_and(const Tensor& a, const Tensor& b) {
  check_mask(a.data(), "logical_and");
  check_mask(b.data(), "logical_and");
  return comparison("logical_and", a, b, std::logical_and<>());
}

Tensor logical_or(const Tensor& a, const Tensor& b) {
  check_mask(a.data(), "logical_or");
  check_mask(b.data(), "logical_or");
  return comparison("logical_or", a, b, std::logical_or<>());
}

Tensor logical_xor(const Tensor& a, const Tensor& b) {
  check_mask(a.data(), "logical_xor");
  check_mask(b.data(), "logical_xor");
  return comparison("logical_xor", a, b, std::not_equal_to<>());
}

Tensor argmax(const Tensor& x, int dim, KeepDim keep) {
  if (x.rank() == 0) return argmax(x.reshape({1}), dim).reshape(Shape{});
  return record("argmax", argmax(x.data(), x.shape().axis(dim, "argmax"), keep), {{x, {}}});
}

bool allclose(const Tensor& a, const Tensor& b, double rtol, double atol) {
  const Array same = compare(a.data(), b.data(), "allclose",
                             [=](auto x, auto y) { return close(x, y, rtol, atol); });
  for (const bool s : same.read<bool>()) {
    if (!s) return false;
  }
  return true;
}

}  // namespace autograd
