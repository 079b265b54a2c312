#include "autograd/gradcheck/op_cases.h"
#include "autograd/gradcheck/op_trials.h"
#include "autograd/ops.h"

namespace autograd::detail {
namespace {

/// Batch dims first; both operands draw their own part of them. Each size is long in turn, and in
/// large trials all are: enough for products of several tiles, whichever operand is transposed.
struct ProductShapes {
  Shape a, b;
};
ProductShapes product_shapes(Draw& d) {
  Index m = d.size(7), k = d.size(9), n = d.size(8);
  switch (d.trial() % 8) {
    case 1: m = d.positive_size(7), k = d.row(), n = d.positive_size(8); break;
    case 2: m = d.positive_size(7), k = d.positive_size(9), n = d.integer(65, 80); break;
    case 3: return {{d.integer(200, 210), 80}, {80, d.integer(140, 150)}};
    case 6: m = d.integer(65, 80), k = d.row(), n = d.positive_size(8); break;
    case 7: m = d.positive_size(17), k = d.positive_size(17), n = d.positive_size(17); break;
    default: break;
  }
  std::vector<Index> batch;
  for (Index i = d.integer(0, 2); i > 0; --i) batch.push_back(d.integer(1, 3));
  const Shape full(batch);
  const auto with = [](const Shape& lead, Index rows, Index cols) {
    return lead.inserted(lead.rank(), rows).inserted(lead.rank() + 1, cols);
  };
  const bool left = d.chance(0.5);  // only one side loses batch dims
  const Shape part = d.broadcastable_to(full);
  return {with(left ? part : full, m, k), with(left ? full : part, k, n)};
}

Trial matmul_batched(Draw& d) {
  const ProductShapes shapes = product_shapes(d);
  return {{d.normal(shapes.a), d.normal(shapes.b)},
          [](const Inputs& in) { return matmul(in[0], in[1]); },
          shapes.a[shapes.a.rank() - 1] == 0};
}

Trial matmul_transposed(Draw& d) {
  const ProductShapes shapes = product_shapes(d);
  const Tensor a = d.normal(shapes.a).detach().transpose(-2, -1).detach().requires_grad_();
  const Tensor b = d.normal(shapes.b).detach().transpose(-2, -1).detach().requires_grad_();
  return {{a, b},
          [](const Inputs& in) { return matmul(in[0].transpose(-2, -1), in[1].transpose(-2, -1)); },
          shapes.a[shapes.a.rank() - 1] == 0};
}

Trial matmul_1d(Draw& d) {
  const int form = d.trial() % 4;
  const Index m = d.positive_size(12), n = d.positive_size(12);
  const Index k = form == 0 ? d.integer(65, 80) : d.row();
  const Shape vector{k};
  const Shape a = form == 0 || form == 1 ? vector : form == 2 ? Shape{m, k} : Shape{2, m, k};
  const Shape b = form == 0 ? Shape{k, n} : vector;
  return {{d.normal(a), d.normal(b)}, [](const Inputs& in) { return matmul(in[0], in[1]); }};
}

Trial linear_with_bias(Draw& d) {
  Index in_size = d.positive_size(17), out_size = d.positive_size(9);
  Shape lead{d.size(7)};
  if (d.trial() % 8 == 1) in_size = d.row(), lead = Shape{d.positive_size(7)};
  if (d.trial() % 8 == 2) out_size = d.integer(65, 80), lead = Shape{d.positive_size(7)};
  if (d.is_large()) in_size = 80, out_size = d.integer(140, 150), lead = Shape{17, 12};  // tiles
  if (d.trial() % 8 == 6) lead = Shape{d.integer(65, 80)};
  const Shape x = d.trial() % 8 == 4 ? Shape{in_size} : lead.inserted(lead.rank(), in_size);
  Inputs inputs{d.normal(x), d.normal(Shape{out_size, in_size})};
  if (d.chance(0.7) || d.has_long_row()) inputs.push_back(d.normal(Shape{out_size}));
  return {inputs,
          [](const Inputs& in) { return linear(in[0], in[1], in.size() > 2 ? in[2] : Tensor()); }};
}

}  // namespace

std::vector<GradcheckCase> product_cases() {
  return {
      {"matmul", matmul_batched},
      {"matmul_transposed", matmul_transposed},
      {"matmul_1d", matmul_1d},
      {"linear", linear_with_bias},
  };
}

}  // namespace autograd::detail
