#include "experiments/measure/lanczos.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

namespace experiments::measure {
namespace {

using Vector = std::vector<double>;

Product diagonal(const Vector& values) {
  return [values](const Vector& x) {
    Vector y(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) y[i] = values[i] * x[i];
    return y;
  };
}

/// A random symmetric matrix, row-major.
Vector symmetric(Index n, std::uint64_t seed) {
  const autograd::Array drawn =
      normal(autograd::Shape{n, n}, 0, 1, autograd::DType::f64, {seed, 0});
  const auto a = drawn.read<double>();
  Vector s(a.size());
  for (Index i = 0; i < n; ++i) {
    for (Index j = 0; j < n; ++j) s[i * n + j] = a[i * n + j] + a[j * n + i];
  }
  return s;
}

Product matrix(const Vector& a, Index n) {
  return [&a, n](const Vector& x) {
    Vector y(x.size(), 0.0);
    for (Index i = 0; i < n; ++i) {
      for (Index j = 0; j < n; ++j) y[i] += a[i * n + j] * x[j];
    }
    return y;
  };
}

TEST(Lanczos, FindsTheLargestOfAKnownSpectrum) {
  Vector values(150);
  std::iota(values.begin(), values.end(), -140.0);  // the largest is 9, the farthest from 0 is not
  const Eigenvalue found = largest_eigenvalue(diagonal(values), 150, {1, 0}, {.tolerance = 1e-9});
  EXPECT_NEAR(found.value, 9, 1e-9);
  EXPECT_LT(found.products, 100);
  EXPECT_LE(std::abs(found.value - 9), found.residual + 1e-12);
}

TEST(Lanczos, AgreesWithTheDenseSolver) {
  for (const Index n : {1, 2, 3, 10, 60}) {
    const Vector a = symmetric(n, static_cast<std::uint64_t>(n));
    const Vector all = eigenvalues(a, n);
    EXPECT_TRUE(std::is_sorted(all.begin(), all.end()));
    double trace = 0;
    for (Index i = 0; i < n; ++i) trace += a[i * n + i];
    EXPECT_NEAR(std::accumulate(all.begin(), all.end(), 0.0), trace, 1e-11 * n);
    const Eigenvalue found = largest_eigenvalue(matrix(a, n), n, {2, 0}, {.tolerance = 1e-12});
    EXPECT_NEAR(found.value, all.back(), 1e-10) << n;
    EXPECT_LE(found.products, n);
  }
}

/// Without reorthogonalisation copies of the largest eigenvalue crowd out the rest, and the number
/// of products passes n.
TEST(Lanczos, StaysOrthogonal) {
  Vector values(40, 1.0);
  values[0] = 1e6;
  for (std::size_t i = 1; i < values.size(); ++i) values[i] = 1.0 + 1e-3 * static_cast<double>(i);
  const Eigenvalue found = largest_eigenvalue(diagonal(values), 40, {3, 0}, {.tolerance = 0});
  EXPECT_NEAR(found.value, 1e6, 1e-8);
  EXPECT_LE(found.products, 40);
}

TEST(Lanczos, TakesWhatHasNothingToFind) {
  EXPECT_EQ(largest_eigenvalue(diagonal(Vector(5, 0.0)), 5, {1, 0}).value, 0);
  EXPECT_NEAR(largest_eigenvalue(diagonal(Vector(5, -2.0)), 5, {1, 0}).value, -2, 1e-14);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Eigenvalue found = largest_eigenvalue(diagonal(Vector(5, nan)), 5, {1, 0});
  EXPECT_TRUE(std::isnan(found.value));
  EXPECT_EQ(found.products, 1);
}

/// It says so where it is not there yet.
TEST(Lanczos, StopsWhereItIsTold) {
  Vector values(500);
  std::iota(values.begin(), values.end(), 0.0);
  const Eigenvalue found = largest_eigenvalue(diagonal(values), 500, {1, 0}, {.max_products = 5});
  EXPECT_EQ(found.products, 5);
  EXPECT_LT(found.value, 499);
  EXPECT_GT(found.residual, 1e-6 * 499);
}

}  // namespace
}  // namespace experiments::measure
