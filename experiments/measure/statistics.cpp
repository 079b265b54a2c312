#include "experiments/measure/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <vector>

namespace experiments::measure {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// The continued fraction of the incomplete beta function, by Lentz's method; converges quickly for
// x < (a + 1) / (a + b + 2).
double beta_fraction(double x, double a, double b) {
  constexpr double kTiny = 1e-300;
  const auto away_from_zero = [](double v) { return std::abs(v) < kTiny ? kTiny : v; };
  double c = 1, d = 1 / away_from_zero(1 - (a + b) * x / (a + 1)), value = d;
  for (int m = 1; m < 1000; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    double factor = 1;
    for (const double term : {even, odd}) {
      d = 1 / away_from_zero(1 + term * d);
      c = away_from_zero(1 + term / c);
      factor = c * d;
      value *= factor;
    }
    if (std::abs(factor - 1) < 1e-15) break;
  }
  return value;
}

// The regularised incomplete beta function I_x(a, b), with y = 1 - x given for its accuracy.
double incomplete_beta(double x, double y, double a, double b) {
  if (x <= 0) return 0;
  if (y <= 0) return 1;
  const double log_front =
      std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) + a * std::log(x) + b * std::log(y);
  const double front = std::exp(log_front);
  if (x < (a + 1) / (a + b + 2)) return front * beta_fraction(x, a, b) / a;
  return 1 - front * beta_fraction(y, b, a) / b;
}

}  // namespace

double mean(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double quantile(std::span<double> values, double q) {
  if (values.empty()) return kNaN;
  const double position = q * static_cast<double>(values.size() - 1);
  const auto low = static_cast<std::size_t>(position);
  const auto at = values.begin() + static_cast<Index>(low);
  std::nth_element(values.begin(), at, values.end());
  const double weight = position - static_cast<double>(low);
  if (weight == 0) return *at;
  const double next = *std::min_element(at + 1, values.end());
  return *at + weight * (next - *at);
}

Summary summarize(std::span<const double> values) {
  const auto finite = [](double v) { return std::isfinite(v); };
  if (values.empty() || !std::all_of(values.begin(), values.end(), finite)) {
    return {kNaN, kNaN, kNaN, kNaN};
  }
  double squares = 0;
  for (const double v : values) squares += v * v;
  std::vector<double> scratch(values.begin(), values.end());
  const double median = quantile(scratch, 0.5), p95 = quantile(scratch, 0.95);
  return {mean(values), median, p95, std::sqrt(squares / static_cast<double>(values.size()))};
}

Estimate grouped_mean(std::span<const double> values, Index group) {
  const Index groups = static_cast<Index>(values.size()) / group;
  const double all = mean(values);
  double squares = 0;
  for (Index i = 0; i < groups; ++i) {
    const double off =
        mean(values.subspan(static_cast<std::size_t>(i * group), static_cast<std::size_t>(group))) -
        all;
    squares += off * off;
  }
  const auto n = static_cast<double>(groups);
  return {all, groups < 2 ? kNaN : std::sqrt(squares / (n - 1) / n), groups};
}

double student_t_tail(double x, double dof) {
  const double square = x * x, total = dof + square;
  return incomplete_beta(dof / total, square / total, dof / 2, 0.5);
}

double student_t_critical(double tail, double dof) {
  double low = 0, high = 1;
  while (student_t_tail(high, dof) > tail && high < 1e300) high *= 2;
  for (int i = 0; i < 200 && low < high; ++i) {
    const double middle = low + (high - low) / 2;
    if (middle == low || middle == high) break;
    (student_t_tail(middle, dof) > tail ? low : high) = middle;
  }
  return high;
}

double four_sigma(double dof, Index tests) {
  const double tail = std::erfc(4 / std::numbers::sqrt2) / static_cast<double>(tests);
  return student_t_critical(tail, dof);
}

double tolerance(const Estimate& a, Index tests) {
  return four_sigma(static_cast<double>(a.groups - 1), tests) * a.error;
}

double tolerance(const Estimate& a, const Estimate& b, Index tests) {
  const double va = a.error * a.error, vb = b.error * b.error;
  if (va + vb == 0) return 0;
  const double dof =
      (va + vb) * (va + vb) /
      (va * va / static_cast<double>(a.groups - 1) + vb * vb / static_cast<double>(b.groups - 1));
  return four_sigma(dof, tests) * std::sqrt(va + vb);
}

LineFit fit_line(std::span<const double> x, std::span<const double> y) {
  LineFit fit{.points = static_cast<Index>(x.size()),
              .slope = kNaN,
              .intercept = kNaN,
              .half_width = kNaN,
              .r2 = kNaN};
  if (x.size() < 2) return fit;
  const double mx = mean(x), my = mean(y);
  double xx = 0, xy = 0, yy = 0, residual = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xx += (x[i] - mx) * (x[i] - mx);
    xy += (x[i] - mx) * (y[i] - my);
    yy += (y[i] - my) * (y[i] - my);
  }
  if (xx == 0) return fit;
  fit.slope = xy / xx;
  fit.intercept = my - fit.slope * mx;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double off = y[i] - (fit.intercept + fit.slope * x[i]);
    residual += off * off;
  }
  fit.r2 = yy == 0 ? 1 : 1 - residual / yy;
  const double dof = static_cast<double>(x.size()) - 2;
  if (dof >= 1) fit.half_width = student_t_critical(0.05, dof) * std::sqrt(residual / dof / xx);
  return fit;
}

}  // namespace experiments::measure
