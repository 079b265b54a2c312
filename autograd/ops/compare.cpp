#include <cmath>

#include "autograd/array/elementwise.h"
#include "autograd/ops.h"

namespace autograd {

Tensor eq(const Tensor& a, const Tensor& b) {
  return Tensor(compare(a.data(), b.data(), "eq", [](auto x, auto y) { return x == y; }));
}
Tensor ne(const Tensor& a, const Tensor& b) {
  return Tensor(compare(a.data(), b.data(), "ne", [](auto x, auto y) { return x != y; }));
}
Tensor lt(const Tensor& a, const Tensor& b) {
  return Tensor(compare(a.data(), b.data(), "lt", [](auto x, auto y) { return x < y; }));
}
Tensor le(const Tensor& a, const Tensor& b) {
  return Tensor(compare(a.data(), b.data(), "le", [](auto x, auto y) { return x <= y; }));
}
Tensor gt(const Tensor& a, const Tensor& b) {
  return Tensor(compare(a.data(), b.data(), "gt", [](auto x, auto y) { return x > y; }));
}
Tensor ge(const Tensor& a, const Tensor& b) {
  return Tensor(compare(a.data(), b.data(), "ge", [](auto x, auto y) { return x >= y; }));
}

Tensor logical_not(const Tensor& mask) {
  return eq(mask, Tensor(Array::scalar(0, DType::b8)));  // DTypeError unless b8
}

Tensor argmax(const Tensor& x, int dim, KeepDim keep) {
  return Tensor(argmax(x.data(), x.shape().axis(dim, "argmax"), keep));
}

bool allclose(const Tensor& a, const Tensor& b, double rtol, double atol) {
  const auto close = [=](auto x, auto y) {
    if (x == y) return true;  // equal infinities too
    const auto u = static_cast<double>(x), v = static_cast<double>(y);
    return std::abs(u - v) <= atol + rtol * std::abs(v) && std::isfinite(v);
  };
  const Array same = compare(a.data(), b.data(), "allclose", close);
  for (const bool s : same.read<bool>()) {
    if (!s) return false;
  }
  return true;
}

}  // namespace autograd
