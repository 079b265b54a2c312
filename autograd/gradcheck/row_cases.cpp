#include "autograd/gradcheck/op_cases.h"
#include "autograd/gradcheck/op_trials.h"
#include "autograd/ops.h"

namespace autograd::detail {
namespace {

using AlongDim = Tensor (*)(const Tensor&, int);

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

}  // namespace

std::vector<GradcheckCase> row_cases() {
  return {
      along_dim("softmax", softmax),           along_dim("log_softmax", log_softmax),
      {"masked_softmax", softmax_under_mask},  {"dropout", dropout_with_fixed_seed},
      {"fused_attention", fused_attention_of}, {"layer_norm", layer_norm_rows},
      {"cross_entropy", cross_entropy_of},     {"mse", mse_of},
  };
}

}  // namespace autograd::detail
