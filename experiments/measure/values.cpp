#include "experiments/measure/values.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace experiments::measure {

double epsilon(autograd::DType dtype) {
  return dtype == autograd::DType::f32 ? std::numeric_limits<float>::epsilon()
                                       : std::numeric_limits<double>::epsilon();
}

std::vector<double> doubles(const autograd::Tensor& t) {
  const autograd::Array wide = t.data().to(autograd::DType::f64);
  const std::span<const double> values = wide.read<double>();
  return {values.begin(), values.end()};
}

double largest(std::span<const double> values) {
  double most = 0;
  for (const double v : values) most = std::max(most, std::abs(v));
  return most;
}

void require_finite(std::span<const double> values, const char* what) {
  if (!std::all_of(values.begin(), values.end(), [](double v) { return std::isfinite(v); }))
    throw autograd::NumericError(
        fmt::format("{} are not finite; try a smaller --scale or --n-embd", what));
}

}  // namespace experiments::measure
