#include <fmt/format.h>

#include <array>

#include "autograd/array/matmul.h"
#include "experiments/tools/workloads.h"

namespace experiments::tools {
namespace {

using autograd::Array;
using autograd::Generator;
using autograd::Shape;
using autograd::Tensor;
using autograd::Trans;

double product(std::initializer_list<Index> factors) {
  double all = 1;
  for (const Index factor : factors) all *= static_cast<double>(factor);
  return all;
}

Tensor normal(const Shape& shape, DType dtype, Generator& generator) {
  return autograd::randn(shape, dtype, generator);
}

std::function<void()> gemm_call(const GemmShape& s, Product which, DType dtype) {
  Generator generator(kSeed);
  const Array x = normal({s.m, s.k}, dtype, generator).data(),
              w = normal({s.n, s.k}, dtype, generator).data(),
              dy = normal({s.m, s.n}, dtype, generator).data();
  switch (which) {
    case Product::y: return [=] { autograd::matmul(x, w, Trans::no, Trans::yes); };
    case Product::dx: return [=] { autograd::matmul(dy, w); };
    case Product::dw: break;
  }
  return [=] { autograd::matmul(dy, x, Trans::yes, Trans::no); };
}

/// Operations on an element: forward, and what backward adds.
struct RowOpInfo {
  const char* name;
  double forward, backward;
};
constexpr std::array kRowOps = {
    RowOpInfo{"softmax", 5, 4},      // max, minus, exp, sum, divide; y g, sum, times y, minus
    RowOpInfo{"layer_norm", 7, 11},  // sum, minus, square, sum, times 1/s, w, b; two gradients of
                                     // parameters (3), g w, two sums (3), three terms (5) of x's
    RowOpInfo{"gelu", 5, 8},         // x/sqrt 2, erf, plus, half, times; density (4), its share of
                                     // the slope (3), times g
};

Tensor apply(RowOp op, const Tensor& x, const Tensor& weight, const Tensor& bias) {
  if (op == RowOp::softmax) return autograd::softmax(x, -1);
  return op == RowOp::layer_norm ? layer_norm(x, weight, bias) : gelu(x);
}

std::function<void()> row_op_call(RowOp op, const Shape& shape, Pass pass, DType dtype) {
  Generator generator(kSeed);
  Tensor x = normal(shape, dtype, generator), g = normal(shape, dtype, generator);
  Tensor weight = autograd::ones({shape[1]}, dtype), bias = autograd::zeros({shape[1]}, dtype);
  if (pass == Pass::forward) return [=] { apply(op, x, weight, bias); };
  for (Tensor* leaf : {&x, &weight, &bias}) leaf->requires_grad_();
  return [=]() mutable {
    for (Tensor* leaf : {&x, &weight, &bias}) leaf->zero_grad();
    apply(op, x, weight, bias).backward(g);
  };
}

}  // namespace

Workload gemm(const GemmShape& shape, Product which, DType dtype) {
  const char* suffix = which == Product::y ? "" : which == Product::dx ? "_dx" : "_dw";
  const char* form = which == Product::y ? "x w^T" : which == Product::dx ? "dy w" : "dy^T x";
  return {.name = fmt::format("gemm_{}x{}x{}{}", shape.m, shape.k, shape.n, suffix),
          .shape = fmt::format("{}x{}x{}: {}", shape.m, shape.k, shape.n, form),
          .flops = 2 * product({shape.m, shape.k, shape.n}),
          .prepare = [=] { return gemm_call(shape, which, dtype); }};
}

Workload row_op(RowOp op, Index rows, Index C, Pass pass, DType dtype) {
  const RowOpInfo& info = kRowOps[static_cast<std::size_t>(op)];
  const bool both = pass == Pass::backward;
  return {.name = fmt::format("{}_{}x{}{}", info.name, rows, C, both ? "_backward" : ""),
          .shape = fmt::format("{} x {}", rows, C),
          .flops = product({rows, C}) * (info.forward + (both ? info.backward : 0)),
          .prepare = [=] {
            return row_op_call(op, {rows, C}, pass, dtype);
          }};
}

Workload chain(Index nodes, DType dtype) {
  const auto prepare = [=]() -> std::function<void()> {
    Tensor x = autograd::ones({1}, dtype);
    x.requires_grad_();
    return [=]() mutable {
      x.zero_grad();
      Tensor y = x;
      for (Index i = 0; i < nodes; ++i) y = scale(y, 1.0);
      y.backward();
    };
  };
  return {.name = fmt::format("chain_{}", nodes),
          .shape = fmt::format("{} nodes", nodes),
          .flops = 2 * product({nodes}),
          .prepare = prepare};
}

}  // namespace experiments::tools
