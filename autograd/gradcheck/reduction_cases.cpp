#include "autograd/gradcheck/op_cases.h"
#include "autograd/gradcheck/op_trials.h"
#include "autograd/ops.h"

namespace autograd::detail {
namespace {

using OverDims = Tensor (*)(const Tensor&, Dims, KeepDim);

struct Reduced {
  Tensor x;
  std::vector<int> dims;
  KeepDim keep;
};

/// Some trials have rows of more than one chunk, and more columns than one block of them.
Reduced draw_reduced(Draw& d, Kind numbers) {
  Shape shape = d.nonempty_shape();
  std::vector<int> dims = d.dims(shape);
  if (d.trial() % 8 == 0) shape = {2, 4099}, dims = {-1};
  if (d.trial() % 8 == 2) shape = {3, d.integer(257, 300)}, dims = {0};
  const KeepDim keep = d.chance(0.5) ? KeepDim::yes : KeepDim::no;
  return {numbers(d, shape), dims, keep};
}

GradcheckCase reduction(const char* name, OverDims f, Kind numbers) {
  return {name, [f, numbers](Draw& d) -> Trial {
            const auto [x, dims, keep] = draw_reduced(d, numbers);
            return of(x,
                      [f, dims = dims, keep = keep](const Tensor& t) { return f(t, dims, keep); });
          }};
}

/// A sum over nothing is 0, so it alone takes empty shapes.
Trial sum_over_dims(Draw& d) {
  const Shape shape = d.shape();
  const std::vector<int> dims = d.dims(shape);
  return of(d.normal(shape), [dims](const Tensor& x) { return sum(x, dims); });
}

/// Flat where it is over one element. Every correction leaves a divisor above 0.
Trial var_over_dims(Draw& d) {
  const auto [x, dims, keep] = draw_reduced(d, normal_numbers);
  const Index n = reduced_count(x.shape(), Axes::of(x.shape(), dims, "var"));
  const double correction = n > 1 && d.chance(0.7) ? 1 : d.chance(0.5) ? 0.5 : 0;
  return {{x},
          [dims = dims, keep = keep, correction](const Inputs& in) {
            return var(in[0], dims, keep, correction);
          },
          n == 1};
}

}  // namespace

std::vector<GradcheckCase> reduction_cases() {
  return {
      reduction("sum", sum, normal_numbers),
      {"sum_empty", sum_over_dims},
      reduction("mean", mean, normal_numbers),
      {"var", var_over_dims},
      reduction("logsumexp", logsumexp, normal_numbers),
      reduction("max", max, distinct),
      reduction("min", min, distinct),
  };
}

}  // namespace autograd::detail
