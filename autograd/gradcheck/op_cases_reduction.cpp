#include <algorithm>

#include "autograd/gradcheck/op_cases.h"
#include "autograd/ops.h"

namespace autograd::detail {
namespace {

using Inputs = std::vector<Tensor>;
using OverDims = Tensor (*)(const Tensor&, std::span<const int>, KeepDim);
using AlongDim = Tensor (*)(const Tensor&, int);

enum class Numbers { normal, distinct };

GradcheckCase reduction(const char* name, OverDims f, Numbers numbers) {
  return {name, [f, numbers](Draw& d) -> Trial {
            const Shape shape = d.nonempty_shape();
            const std::vector<int> dims = d.dims(shape);
            const KeepDim keep = d.chance(0.5) ? KeepDim::yes : KeepDim::no;
            const Tensor x = numbers == Numbers::normal ? d.normal(shape) : d.distinct(shape);
            return {{x}, [f, dims, keep](const Inputs& in) { return f(in[0], dims, keep); }};
          }};
}

/// A sum over nothing is 0, so it alone takes empty shapes.
Trial sum_over_dims(Draw& d) {
  const Shape shape = d.shape();
  const std::vector<int> dims = d.dims(shape);
  return {{d.normal(shape)}, [dims](const Inputs& in) { return sum(in[0], dims); }};
}

/// Batch dims first; both operands draw their own part of them.
struct ProductShapes {
  Shape a, b;
};
ProductShapes product_shapes(Draw& d) {
  const Index most = d.is_large() ? 65 : 17;
  Index m = d.size(most), k = d.size(most), n = d.size(most);
  if (!d.is_large() && d.trial() % 4 != 3) {
    m = std::min<Index>(m, 7), k = std::min<Index>(k, 9), n = std::min<Index>(n, 8);
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
  const Index m = d.positive_size(12), k = d.positive_size(), n = d.positive_size(12);
  const Shape vector{k};
  const int form = d.trial() % 4;
  const Shape a = form == 0 || form == 1 ? vector : form == 2 ? Shape{m, k} : Shape{2, m, k};
  const Shape b = form == 0 ? Shape{k, n} : vector;
  return {{d.normal(a), d.normal(b)}, [](const Inputs& in) { return matmul(in[0], in[1]); }};
}

Trial linear_with_bias(Draw& d) {
  const Index in_size = d.positive_size(d.is_large() ? 65 : 17);
  const Index out_size = d.positive_size(d.is_large() ? 65 : 9);
  const Shape lead = d.is_large() ? Shape{17, 9} : Shape{d.size(7)};
  const Shape x = d.chance(0.2) ? Shape{in_size} : lead.inserted(lead.rank(), in_size);
  Inputs inputs{d.normal(x), d.normal(Shape{out_size, in_size})};
  if (d.chance(0.7)) inputs.push_back(d.normal(Shape{out_size}));
  return {inputs,
          [](const Inputs& in) { return linear(in[0], in[1], in.size() > 2 ? in[2] : Tensor()); }};
}

GradcheckCase along_dim(const char* name, AlongDim f) {
  return {name, [f](Draw& d) -> Trial {
            const Shape shape = d.shape(1, 4);
            const int dim = d.dim(shape);
            return {{d.normal(shape)},
                    [f, dim](const Inputs& in) { return f(in[0], dim); },
                    shape[shape.axis(dim, "softmax")] <= 1};  // constant over one element
          }};
}

/// Every fourth trial has many rows that are masked as a whole.
Trial softmax_under_mask(Draw& d) {
  const Shape shape = d.shape(1, 4);
  const int dim = d.dim(shape);
  const Tensor x = d.normal(shape);
  const Tensor mask = d.mask(d.broadcastable_to(shape), d.trial() % 4 == 1 ? 0.15 : 0.75);
  return {{x}, [mask, dim](const Inputs& in) { return masked_softmax(in[0], mask, dim); }, true};
}

/// Large trials have rows of several tiles, with and without the mask.
Trial fused_attention_of(Draw& d) {
  const Index T = d.is_large() ? d.integer(257, 262) : d.positive_size(9);
  const Index heads = d.integer(1, d.is_large() ? 2 : 3), C = heads * d.integer(1, 4);
  FusedAttentionOptions options{.n_head = heads, .scale = d.number(0.2, 1.2)};
  options.causal = d.chance(0.5) ? Causal::yes : Causal::no;
  options.dropout = d.chance(0.3) ? 0.3 : 0.0;
  const auto seed = static_cast<std::uint64_t>(d.integer(0, 1 << 20));
  const Index B = d.is_large() ? 1 : d.size(3);
  return {{d.normal({B, T, 3 * C})},
          [options, seed](const Inputs& in) {
            Generator generator(seed);
            FusedAttentionOptions now = options;
            now.generator = &generator;
            return fused_attention(in[0], now);
          },
          options.dropout > 0};
}

/// One trial in four has no weight, one in four no bias. A row of one element is always 0.
Trial layer_norm_rows(Draw& d) {
  const Shape lead = d.shape(0, 2);
  const Index width = d.integer(1, d.is_large() ? 65 : 12);
  Inputs inputs{d.normal(lead.inserted(lead.rank(), width))};
  const bool has_weight = d.trial() % 4 != 1, has_bias = d.trial() % 4 != 2;
  if (has_weight) inputs.push_back(d.normal(Shape{width}));
  if (has_bias) inputs.push_back(d.normal(Shape{width}));
  return {inputs,
          [has_weight, has_bias](const Inputs& in) {
            return layer_norm(in[0], has_weight ? in[1] : Tensor(), has_bias ? in.back() : Tensor(),
                              1e-2);
          },
          width == 1};
}

Trial cross_entropy_of(Draw& d) {
  const Shape lead = d.nonempty_shape(0, 2);
  const Index V = 1 + d.positive_size(d.is_large() ? 64 : 12);
  constexpr Reduction kReductions[] = {Reduction::mean, Reduction::sum, Reduction::none};
  const CrossEntropyOptions options{.ignore_index = d.chance(0.5) ? -100 : 0,
                                    .reduction = kReductions[d.trial() % 3]};
  Tensor target = d.indices(lead, V);
  target.write<std::int64_t>([&](auto labels) { labels[0] = V - 1; });  // one at least counts
  return {{d.normal(lead.inserted(lead.rank(), V))},
          [target, options](const Inputs& in) { return cross_entropy(in[0], target, options); }};
}

Trial mse_of(Draw& d) {
  const Shape shape = d.nonempty_shape();
  return {{d.normal(shape), d.normal(shape)}, [](const Inputs& in) { return mse(in[0], in[1]); }};
}

Trial dropout_with_fixed_seed(Draw& d) {
  constexpr double kP[] = {0.0, 0.1, 0.25, 0.5, 0.9, 1.0};
  const double p = kP[d.trial() % 6];
  const auto seed = static_cast<std::uint64_t>(d.integer(0, 1 << 20));
  return {{d.normal(d.shape())},
          [p, seed](const Inputs& in) {
            Generator generator(seed);
            return dropout(in[0], p, generator);
          },
          p > 0};
}

}  // namespace

std::vector<GradcheckCase> reduction_cases() {
  return {
      reduction("sum", sum, Numbers::normal),
      {"sum_empty", sum_over_dims},
      reduction("mean", mean, Numbers::normal),
      reduction("max", max, Numbers::distinct),
      reduction("min", min, Numbers::distinct),
      {"matmul", matmul_batched},
      {"matmul_transposed", matmul_transposed},
      {"matmul_1d", matmul_1d},
      {"linear", linear_with_bias},
      along_dim("softmax", softmax),
      along_dim("log_softmax", log_softmax),
      {"masked_softmax", softmax_under_mask},
      {"dropout", dropout_with_fixed_seed},
      {"fused_attention", fused_attention_of},
      {"layer_norm", layer_norm_rows},
      {"cross_entropy", cross_entropy_of},
      {"mse", mse_of},
  };
}

}  // namespace autograd::detail
