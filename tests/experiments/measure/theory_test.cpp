#include "experiments/measure/theory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

namespace experiments::measure {
namespace {

using std::numbers::pi;

TEST(ExpectedMax, MatchesTheTable) {
  EXPECT_NEAR(expected_max(1), 0, 1e-9);
  EXPECT_NEAR(expected_max(2), 1 / std::sqrt(pi), 1e-12);
  EXPECT_NEAR(expected_max(3), 1.5 / std::sqrt(pi), 1e-12);
  for (const auto& [T, m] : {std::pair{4, 1.0294},
                             {8, 1.4236},
                             {16, 1.7660},
                             {64, 2.3437},
                             {256, 2.8269},
                             {1024, 3.2482}}) {
    EXPECT_NEAR(expected_max(T), m, 6e-5) << T;
  }
}

TEST(MedianTopGap, MatchesSimulation) {
  EXPECT_NEAR(median_top_gap(2), std::sqrt(2.0) * 0.6744897501960817, 1e-8);  // |N(0, 2)|
  // 20 million rows of numpy for the first three, 2 million, and 400,000 for the last.
  for (const auto& [T, gap] : {std::pair{4, 0.5863},
                               {8, 0.4429},
                               {16, 0.3653},
                               {64, 0.2826},
                               {256, 0.2370},
                               {1024, 0.2074}}) {
    EXPECT_NEAR(median_top_gap(T), gap, 8e-4) << T;
  }
}

TEST(ExpectedInverseNorm, MatchesItsIntegrals) {
  EXPECT_TRUE(std::isinf(expected_inverse_norm(1)));
  EXPECT_NEAR(expected_inverse_norm(2), std::sqrt(pi / 2), 1e-12);
  EXPECT_NEAR(expected_inverse_norm(3), std::sqrt(2 / pi), 1e-12);
  EXPECT_NEAR(expected_inverse_norm(65536), (1 + 0.75 / 65536) / 256, 1e-11);
}

// With T = 2 everything is an integral over one normal, the difference of the two logits.
template <class F>
double mean_of_two(double sigma, F f) {
  const double width = sigma * std::numbers::sqrt2, step = 1e-3;
  double total = 0;
  for (double z = -12; z <= 12; z += step) {
    const double p = 1 / (1 + std::exp(-width * z));
    total += step * std::exp(-z * z / 2) / std::sqrt(2 * pi) * f(p, 1 - p);
  }
  return total;
}
double entropy(double p, double q) {
  return (p > 0 ? -p * std::log(p) : 0) + (q > 0 ? -q * std::log(q) : 0);
}
double jacobian(double p, double q) { return 2 * p * q; }  // p q [1 -1; -1 1]

TEST(SmallSigma, IsTheLimit) {
  const double sigma = 0.1;
  EXPECT_NEAR(small_sigma_entropy(2, sigma), mean_of_two(sigma, entropy), 3e-7);
  EXPECT_GT(std::abs(std::log(2.0) - sigma * sigma / 4 - mean_of_two(sigma, entropy)), 1e-5);
  EXPECT_NEAR(small_sigma_jacobian(2), mean_of_two(0.01, jacobian), 1e-4);
  EXPECT_NEAR(small_sigma_jacobian(16), std::sqrt(15.0) / 16, 1e-15);
}

TEST(LargeSigma, IsTheLimit) {
  const double sigma = 100;
  const auto expect_close = [](double limit, double exact) { EXPECT_NEAR(limit / exact, 1, 2e-3); };
  expect_close(large_sigma_entropy(2, sigma), mean_of_two(sigma, entropy));
  expect_close(large_sigma_jacobian(2, sigma), mean_of_two(sigma, jacobian));
  expect_close(large_sigma_jacobian_square(2, sigma),
               mean_of_two(sigma, [](double p, double q) { return 4 * p * p * q * q; }));
  expect_close(large_sigma_lost_mass(2, sigma),
               mean_of_two(sigma, [](double p, double q) { return std::min(p, q); }));
  // The median row has its logits sigma gap_T apart, and |J|_F = 2 p q there.
  EXPECT_NEAR(large_sigma_jacobian_median(2, 10), 2 * std::exp(-10 * median_top_gap(2)), 1e-15);
}

}  // namespace
}  // namespace experiments::measure
