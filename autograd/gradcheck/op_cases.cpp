#include "autograd/gradcheck/op_cases.h"

#include <algorithm>
#include <numeric>

#include "autograd/ops.h"

namespace autograd {
namespace {

using Inputs = std::vector<Tensor>;

template <class F>
Trial of(const Tensor& input, F f) {
  return {{input}, [f](const Inputs& in) { return f(in[0]); }};
}

using Unary = Tensor (*)(const Tensor&);
using Binary = Tensor (*)(const Tensor&, const Tensor&);
using Kind = Tensor (*)(Draw&, const Shape&);  // which numbers an input is made of

Tensor normal_numbers(Draw& d, const Shape& s) { return d.normal(s); }
Tensor positive(Draw& d, const Shape& s) { return d.positive(s); }
Tensor clear_of_zero(Draw& d, const Shape& s) { return d.away_from_zero(s); }
Tensor distinct(Draw& d, const Shape& s) { return d.distinct(s); }
Tensor between_those(Draw& d, const Shape& s) {  // no near ties with distinct numbers either
  return (d.distinct(s).detach() + 1.0 / 256).requires_grad_();
}

GradcheckCase unary(const char* name, Unary f, Kind x) {
  return {name, [f, x](Draw& d) -> Trial { return of(x(d, d.shape()), f); }};
}

GradcheckCase binary(const char* name, Binary f, Kind a, Kind b) {
  return {name, [f, a, b](Draw& d) -> Trial {
            const auto shapes = d.broadcast_pair();
            const Tensor x = a(d, shapes.first), y = b(d, shapes.second);
            return {{x, y}, [f](const Inputs& in) { return f(in[0], in[1]); }};
          }};
}

Trial pow_number(Draw& d) {
  constexpr double kExponents[] = {2, 3, 0.5, -1, 1, 0, -1.5, 1.75};
  const double exponent = kExponents[d.trial() % 8];
  const bool whole = exponent == 2 || exponent == 3 || exponent == -1;
  const Shape shape = d.shape();
  return {{whole ? d.away_from_zero(shape) : d.positive(shape)},
          [exponent](const Inputs& in) { return pow(in[0], exponent); },
          exponent == 0};
}

Trial select_where(Draw& d) {
  const auto shapes = d.broadcast_pair();
  const Tensor a = d.normal(shapes.first), b = d.normal(shapes.second);
  const Tensor mask = d.mask(d.broadcastable_to(broadcast(a.shape(), b.shape(), "where")), 0.5);
  return {{a, b}, [mask](const Inputs& in) { return where(mask, in[0], in[1]); }};
}

/// Flat where every number is negative.
Trial relu_of_some(Draw& d) {
  return {{d.away_from_zero(d.shape())}, [](const Inputs& in) { return relu(in[0]); }, true};
}

Trial norm_of_all(Draw& d) { return of(d.away_from_zero(d.nonempty_shape()), norm); }

Trial to_same_dtype(Draw& d) {
  return of(d.normal(d.shape()), [](const Tensor& x) { return to(x, x.dtype()); });
}

Tensor gelu_erf(const Tensor& x) { return gelu(x, Gelu::erf); }
Tensor gelu_tanh(const Tensor& x) { return gelu(x, Gelu::tanh); }
Tensor times_number(const Tensor& x) { return scale(x, -1.75); }
Tensor plus_number(const Tensor& x) { return shift(x, 0.3); }
Tensor over_number(const Tensor& x) { return x / 3.0; }
Tensor number_over(const Tensor& x) { return 3.0 / x; }
Tensor number_minus(const Tensor& x) { return 3.0 - x; }

using OverDims = Tensor (*)(const Tensor&, std::span<const int>, KeepDim);
using AlongDim = Tensor (*)(const Tensor&, int);

/// Some trials have rows of more than one chunk, and more columns than one block of them.
GradcheckCase reduction(const char* name, OverDims f, Kind numbers) {
  return {name, [f, numbers](Draw& d) -> Trial {
            Shape shape = d.nonempty_shape();
            std::vector<int> dims = d.dims(shape);
            if (d.trial() % 8 == 0) shape = {2, 4099}, dims = {-1};
            if (d.trial() % 8 == 2) shape = {3, d.integer(257, 300)}, dims = {0};
            const KeepDim keep = d.chance(0.5) ? KeepDim::yes : KeepDim::no;
            return of(numbers(d, shape),
                      [f, dims, keep](const Tensor& x) { return f(x, dims, keep); });
          }};
}

/// A sum over nothing is 0, so it alone takes empty shapes.
Trial sum_over_dims(Draw& d) {
  const Shape shape = d.shape();
  const std::vector<int> dims = d.dims(shape);
  return of(d.normal(shape), [dims](const Tensor& x) { return sum(x, dims); });
}

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

/// Some trials have rows of several tiles: large ones without the causal mask, so that the later
/// tiles hold many of the largest scores, others with it.
Trial fused_attention_of(Draw& d) {
  const int kind = d.trial() % 8;
  const bool tiles = kind == 3 || kind == 7;
  const Index T = tiles ? d.integer(385, 400) : kind == 2 ? d.integer(65, 80) : d.positive_size(9);
  const Index heads = d.integer(1, tiles ? 2 : 3);
  const Index C = heads * (kind == 1 ? d.row() : kind == 6 ? d.integer(33, 40) : d.integer(1, 4));
  FusedAttentionOptions options{.n_head = heads, .scale = d.number(0.2, 1.2)};
  options.causal = kind == 7 || (kind != 3 && d.chance(0.5)) ? Causal::yes : Causal::no;
  options.dropout = d.chance(0.3) ? 0.3 : 0.0;
  const auto seed = static_cast<std::uint64_t>(d.integer(0, 1 << 20));
  const Index B = tiles ? 1 : d.has_long_row() ? d.positive_size(3) : d.size(3);
  return {{d.normal({B, T, 3 * C})},
          [options, seed](const Inputs& in) {
            Generator generator(seed);
            FusedAttentionOptions now = options;
            now.generator = &generator;
            return fused_attention(in[0], now);
          },
          options.dropout > 0};
}

/// One trial in four has no weight, one in four no bias, some many rows. A row of one element is
/// always 0.
Trial layer_norm_rows(Draw& d) {
  const Index width = d.has_long_row() ? d.row() : d.integer(1, 12);
  const Shape lead = d.trial() % 8 == 2   ? Shape{d.integer(65, 80)}
                     : d.trial() % 8 == 5 ? Shape{0}
                                          : d.leading(width);
  Inputs inputs{d.normal(lead.inserted(lead.rank(), width))};
  const bool has_weight = d.trial() % 4 != 1, has_bias = d.trial() % 4 != 0;
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
  const Index V = d.has_long_row() ? d.row() : 1 + d.positive_size(12);
  const Shape lead = d.trial() % 8 == 2 ? Shape{d.integer(65, 80)} : d.leading(V);
  constexpr Reduction kReductions[] = {Reduction::mean, Reduction::sum, Reduction::none};
  const CrossEntropyOptions options{.ignore_index = d.chance(0.5) ? -100 : 0,
                                    .reduction = kReductions[d.trial() % 3]};
  Tensor target = d.indices(lead, V);
  target.write<std::int64_t>([&](auto labels) { labels[0] = V - 1; });  // one at least counts
  return of(d.normal(lead.inserted(lead.rank(), V)),
            [target, options](const Tensor& x) { return cross_entropy(x, target, options); });
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

Trial reshape_to_other(Draw& d) {
  const Shape from = d.shape();
  std::vector<Index> sizes(from.sizes().begin(), from.sizes().end());
  if (d.chance(0.5)) std::reverse(sizes.begin(), sizes.end());
  if (d.chance(0.5)) sizes = {from.numel()};
  const Shape to(sizes);
  return of(d.normal(from), [to](const Tensor& x) { return reshape(x, to); });
}

Trial transpose_two(Draw& d) {
  const Shape shape = d.shape(1, 4);
  const int i = d.dim(shape), j = d.dim(shape);
  return of(d.normal(shape), [i, j](const Tensor& x) { return transpose(x, i, j); });
}

Trial permute_all(Draw& d) {
  const Shape shape = d.shape();
  std::vector<int> dims(static_cast<std::size_t>(shape.rank()));
  std::iota(dims.begin(), dims.end(), 0);
  for (int i = shape.rank() - 1; i > 0; --i) std::swap(dims[i], dims[d.integer(0, i)]);
  return of(d.normal(shape), [dims](const Tensor& x) { return permute(x, dims); });
}

Trial squeeze_one(Draw& d) {
  Shape shape = d.shape(0, 3);
  const int behind = d.has_long_row() ? shape.rank() - 1 : shape.rank();
  const int axis = static_cast<int>(d.integer(0, behind));
  shape = shape.inserted(axis, 1);
  const int dim = d.chance(0.5) ? axis : axis - shape.rank();
  return of(d.normal(shape), [dim](const Tensor& x) { return squeeze(x, dim); });
}

Trial unsqueeze_one(Draw& d) {
  const Shape shape = d.shape(0, 3);
  const int dim = static_cast<int>(d.integer(-shape.rank() - 1, shape.rank()));
  return of(d.normal(shape), [dim](const Tensor& x) { return unsqueeze(x, dim); });
}

Trial expand_to(Draw& d) {
  const Shape full = d.shape();
  return of(d.normal(d.broadcastable_to(full)),
            [full](const Tensor& x) { return expand(x, full); });
}

Trial narrow_part(Draw& d) {
  const Shape shape = d.shape(1, 4);
  const int dim = d.dim(shape);
  const Index size = shape[shape.axis(dim, "narrow")];
  const Index least = d.has_long_row() ? 1 : 0;  // so that something is left to check
  const Index start = d.integer(0, size - least), length = d.integer(least, size - start);
  return of(d.normal(shape), [dim, start = d.chance(0.5) ? start : start - size,
                              length](const Tensor& x) { return narrow(x, dim, start, length); });
}

Trial select_one(Draw& d) {
  const Shape shape = d.nonempty_shape(1, 4);
  const int dim = d.dim(shape);
  const Index size = shape[shape.axis(dim, "select")];
  const Index index = d.integer(-size, size - 1);
  return of(d.normal(shape), [dim, index](const Tensor& x) { return select(x, dim, index); });
}

/// The parts come back in reverse order, each with its own factor; the first may stay unused.
Trial split_parts(Draw& d) {
  const Shape shape = d.nonempty_shape(1, 4);
  const int dim = d.dim(shape);
  const Index size = d.integer(1, shape[shape.axis(dim, "split")]);
  const bool skip_first = d.chance(0.3);
  return {{d.normal(shape)}, [dim, size, skip_first](const Inputs& in) {
            const std::vector<Tensor> parts = split(in[0], size, dim);
            Inputs used;
            for (std::size_t i = parts.size(); i-- > 0;) {
              if (i > 0 || !skip_first || parts.size() == 1) {
                used.push_back(parts[i] * (1.0 + static_cast<double>(i)));
              }
            }
            return concat(used, dim);
          }};
}

Trial concat_parts(Draw& d) {
  const Shape shape = d.shape(1, 3);
  const int dim = d.dim(shape);
  const int axis = shape.axis(dim, "concat");
  Inputs parts{d.normal(shape)};
  for (Index i = d.integer(0, 3); i > 0; --i) {
    parts.push_back(d.normal(shape.with(axis, d.integer(0, std::max<Index>(3, shape[axis])))));
  }
  return {parts, [dim](const Inputs& in) { return concat(in, dim); }};
}

Trial stack_parts(Draw& d) {
  const Shape shape = d.shape(0, 3);
  const int dim = static_cast<int>(d.integer(-shape.rank() - 1, shape.rank()));
  Inputs parts;
  for (Index i = d.integer(1, 4); i > 0; --i) parts.push_back(d.normal(shape));
  return {parts, [dim](const Inputs& in) { return stack(in, dim); }};
}

Trial lower_triangle(Draw& d) {
  const Shape shape = d.shape(2, 4);
  const Index diagonal = d.integer(d.has_long_row() ? 0 : -2, 3);
  return {{d.normal(shape)},
          [diagonal](const Inputs& in) { return tril(in[0], diagonal); },
          diagonal < 0};
}

Trial fill_under_mask(Draw& d) {
  const Shape shape = d.shape();
  const bool widens = d.trial() % 8 == 0;  // the mask has dims that x lacks
  const Tensor mask = d.mask(widens ? shape : d.broadcastable_to(shape), 0.4);
  return {{d.normal(widens ? d.broadcastable_to(shape) : shape)},
          [mask](const Inputs& in) { return masked_fill(in[0], mask, -2.5); },
          true};
}

/// More look-ups than rows in most trials, so that indices repeat.
Trial embedding_rows(Draw& d) {
  const bool many = d.is_large() || d.trial() % 8 == 2;
  const Index rows = d.trial() % 8 == 2 ? d.integer(65, 80) : d.positive_size(9);
  const Shape at = many               ? Shape{9, 65}
                   : d.has_long_row() ? Shape{d.positive_size(4), d.positive_size(9)}
                                      : Shape{d.size(4), d.size(9)};
  const Index columns = d.row();
  const Tensor index = d.indices(at, rows);
  return {{d.normal(Shape{rows, columns}), index},
          [](const Inputs& in) { return embedding(in[0], in[1]); }};
}

}  // namespace

std::span<const GradcheckCase> op_cases() {
  static const std::vector<GradcheckCase> cases = {
      binary("add", add, normal_numbers, normal_numbers),
      binary("sub", sub, normal_numbers, normal_numbers),
      binary("mul", mul, normal_numbers, normal_numbers),
      binary("div", div, normal_numbers, clear_of_zero),
      unary("neg", neg, normal_numbers),
      unary("scale", times_number, normal_numbers),
      unary("shift", plus_number, normal_numbers),
      unary("div_by_number", over_number, normal_numbers),
      unary("div_of_number", number_over, clear_of_zero),
      unary("sub_from_number", number_minus, normal_numbers),
      binary("maximum", maximum, distinct, between_those),
      binary("minimum", minimum, distinct, between_those),
      binary("pow", static_cast<Binary>(pow), positive, normal_numbers),
      {"pow_number", pow_number},
      {"where", select_where},
      unary("abs", static_cast<Unary>(abs), clear_of_zero),
      unary("exp", static_cast<Unary>(exp), normal_numbers),
      unary("log", static_cast<Unary>(log), positive),
      unary("sqrt", static_cast<Unary>(sqrt), positive),
      unary("tanh", static_cast<Unary>(tanh), normal_numbers),
      unary("sigmoid", sigmoid, normal_numbers),
      {"relu", relu_of_some},
      unary("gelu_erf", gelu_erf, normal_numbers),
      unary("gelu_tanh", gelu_tanh, normal_numbers),
      {"norm", norm_of_all},
      {"to", to_same_dtype},
      reduction("sum", sum, normal_numbers),
      {"sum_empty", sum_over_dims},
      reduction("mean", mean, normal_numbers),
      reduction("max", max, distinct),
      reduction("min", min, distinct),
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
      {"reshape", reshape_to_other},
      {"transpose", transpose_two},
      {"permute", permute_all},
      {"squeeze", squeeze_one},
      {"unsqueeze", unsqueeze_one},
      {"expand", expand_to},
      {"narrow", narrow_part},
      {"select", select_one},
      {"split", split_parts},
      {"concat", concat_parts},
      {"stack", stack_parts},
      {"tril", lower_triangle},
      {"masked_fill", fill_under_mask},
      {"embedding", embedding_rows},
  };
  return cases;
}

}  // namespace autograd
