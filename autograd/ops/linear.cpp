#include "autograd/array/elementwise.h"
#include "autograd/array/matmul.h"
#include "autograd/ops.h"

namespace autograd {

namespace {

void check(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  check_float(x.data(), "linear");
  check_mixable(x.data(), weight.data(), "linear");
  if (bias.defined()) check_mixable(x.data(), bias.data(), "linear");
  if (weight.rank() != 2 || x.rank() < 1 || x.size(-1) != weight.size(1)) {
    fail<ShapeError>("linear: expected x (..., in) and weight (out, in), got {} and {}",
                     x.shape().str(), weight.shape().str());
  }
  if (bias.defined() && bias.shape() != Shape{weight.size(0)}) {
    fail<ShapeError>("linear: expected bias ({},), got {}", weight.size(0), bias.shape().str());
  }
}

}  // namespace

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  check(x, weight, bias);
  const Array d = x.data(), w = weight.data();
  const Index in = weight.size(1), out = weight.size(0);
  const Shape from = x.shape(), to = from.with(from.rank() - 1, out);
  const Index count = Shape(from.sizes().first(static_cast<std::size_t>(from.rank() - 1))).numel();
  const Array d2 = d.reshape({count, in});
  Array y = matmul(d2, w, Trans::no, Trans::yes);  // (rows, out)
  if (bias.defined()) y = y + bias.data();
  const Shape rows{count, out};
  return record(
      "linear", y.reshape(to),
      {{x, [w, rows, from](const Array& g) { return matmul(g.reshape(rows), w).reshape(from); }},
       {weight,
        [d2, rows](const Array& g) { return matmul(g.reshape(rows), d2, Trans::yes, Trans::no); }},
       {bias, [rows](const Array& g) { return sum(g.reshape(rows), 0, KeepDim::no); }}});
}

}  // namespace autograd
