#include "autograd/gradcheck/attention_cases.h"
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
      along_dim("softmax", softmax),
      along_dim("log_softmax", log_softmax),
      {"masked_softmax", softmax_under_mask},
      {"dropout", dropout_with_fixed_seed},
      {"fused_attention", packed_attention_trial},
      {"fused_attention_separate", separate_attention_trial},
      {"layer_norm", layer_norm_rows},
      {"cross_entropy", cross_entropy_of},
      {"mse", mse_of},
  };
}

}  // namespace autograd::detail
