#include <cmath>

#include "autograd/array/elementwise.h"
#include "autograd/ops.h"

namespace autograd {
namespace {

// A result that carries no gradient: inputs without a rule.
Tensor result(const char* op, Array out, const Tensor& a, const Tensor& b = Tensor()) {
  return record(op, std::move(out), {{a, {}}, {b, {}}});
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

}  // namespace

Tensor eq(const Tensor& a, const Tensor& b) {
  return result("eq", compare(a.data(), b.data(), "eq", [](auto x, auto y) { return x == y; }), a,
                b);
}
Tensor ne(const Tensor& a, const Tensor& b) {
  return result("ne", compare(a.data(), b.data(), "ne", [](auto x, auto y) { return x != y; }), a,
                b);
}
Tensor lt(const Tensor& a, const Tensor& b) {
  return result("lt", compare(a.data(), b.data(), "lt", [](auto x, auto y) { return x < y; }), a,
                b);
}
Tensor le(const Tensor& a, const Tensor& b) {
  return result("le", compare(a.data(), b.data(), "le", [](auto x, auto y) { return x <= y; }), a,
                b);
}
Tensor gt(const Tensor& a, const Tensor& b) {
  return result("gt", compare(a.data(), b.data(), "gt", [](auto x, auto y) { return x > y; }), a,
                b);
}
Tensor ge(const Tensor& a, const Tensor& b) {
  return result("ge", compare(a.data(), b.data(), "ge", [](auto x, auto y) { return x >= y; }), a,
                b);
}

Tensor logical_not(const Tensor& mask) {
  const Array m = mask.data();
  check_mask(m, "logical_not");
  return result(
      "logical_not",
      compare(m, Array::scalar(0, DType::b8), "logical_not", [](auto x, auto y) { return x == y; }),
      mask);
}

Tensor logical_and(const Tensor& a, const Tensor& b) {
  check_mask(a.data(), "logical_and");
  check_mask(b.data(), "logical_and");
  return result(
      "logical_and",
      compare(a.data(), b.data(), "logical_and", [](auto x, auto y) { return x != 0 && y != 0; }),
      a, b);
}

Tensor argmax(const Tensor& x, int dim, KeepDim keep) {
  if (x.rank() == 0) return argmax(x.reshape({1}), dim).reshape(Shape{});
  return result("argmax", argmax(x.data(), x.shape().axis(dim, "argmax"), keep), x);
}

bool allclose(const Tensor& a, const Tensor& b, double rtol, double atol) {
  const auto close = [=](auto x, auto y) {
    if (x == y) return true;  // equal infinities too
    const auto v = static_cast<double>(y);
    return distance(x, y) <= atol + rtol * std::abs(v) && std::isfinite(v);
  };
  const Array same = compare(a.data(), b.data(), "allclose", close);
  for (const bool s : same.read<bool>()) {
    if (!s) return false;
  }
  return true;
}

}  // namespace autograd
