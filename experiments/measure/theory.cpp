#include "experiments/measure/theory.h"

#include <cmath>
#include <limits>
#include <numbers>

namespace experiments::measure {
namespace {

using std::numbers::pi;

double density(double x) { return std::exp(-0.5 * x * x) / std::sqrt(2 * pi); }

// Phi(x)^n, exact for large n where Phi is close to 1.
double cdf_power(double x, double n) {
  if (n == 0) return 1;
  return std::exp(n * std::log1p(-0.5 * std::erfc(x / std::numbers::sqrt2)));
}

// Simpson's rule over all normals that matter: beyond 12 the density is below 1e-32.
template <class F>
double integrate(F f) {
  constexpr int kSteps = 4800;
  constexpr double kLow = -12, kHigh = 12, kStep = (kHigh - kLow) / kSteps;
  double total = f(kLow) + f(kHigh);
  for (int i = 1; i < kSteps; ++i) total += f(kLow + i * kStep) * (i % 2 ? 4 : 2);
  return total * kStep / 3;
}

}  // namespace

double expected_max(Index T) {
  const auto n = static_cast<double>(T);
  return integrate([n](double x) { return x * n * density(x) * cdf_power(x, n - 1); });
}

double median_top_gap(Index T) {
  const auto n = static_cast<double>(T);
  if (T < 2) return std::numeric_limits<double>::quiet_NaN();
  // P(gap > g): the largest is at x and the others lie below x - g.
  const auto exceeds = [n](double g) {
    return integrate([=](double x) { return n * density(x) * cdf_power(x - g, n - 1); });
  };
  double low = 0, high = 4;
  while (high - low > 1e-10) {
    const double middle = (low + high) / 2;
    (exceeds(middle) > 0.5 ? low : high) = middle;
  }
  return (low + high) / 2;
}

double expected_inverse_norm(Index d) {
  if (d < 2) return std::numeric_limits<double>::infinity();
  const auto n = static_cast<double>(d);
  return std::exp(std::lgamma((n - 1) / 2) - std::lgamma(n / 2)) / std::numbers::sqrt2;
}

double small_sigma_entropy(Index T, double sigma) {
  const auto n = static_cast<double>(T);
  const double s2 = sigma * sigma;
  return std::log(n) - s2 / 2 * (1 - 1 / n) + 0.75 * s2 * s2 * (n - 1) / (n * n);
}

double small_sigma_jacobian(Index T) {
  const auto n = static_cast<double>(T);
  return std::sqrt(n - 1) / n;
}

double large_sigma_entropy(Index T, double sigma) { return pi * pi / 6 * expected_max(T) / sigma; }

double large_sigma_lost_mass(Index T, double sigma) {
  return std::numbers::ln2 * expected_max(T) / sigma;
}

double large_sigma_jacobian(Index T, double sigma) { return expected_max(T) / sigma; }

double large_sigma_jacobian_square(Index T, double sigma) { return expected_max(T) / (3 * sigma); }

double large_sigma_jacobian_median(Index T, double sigma) {
  return 2 * std::exp(-sigma * median_top_gap(T));
}

}  // namespace experiments::measure
