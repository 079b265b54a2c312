#include "autograd/machine/vector_math.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numbers>
#include <vector>

namespace autograd::vector_math {
namespace {

template <class T>
constexpr T kInf = std::numeric_limits<T>::infinity();

/// |got - want| in units in the last place of want; in those of the smallest normal number below
/// it.
template <class T>
double ulps(T got, long double want) {
  const T near = std::max(static_cast<T>(std::abs(want)), std::numeric_limits<T>::min());
  const T step = std::nextafter(near, kInf<T>) - near;
  return static_cast<double>(std::abs(static_cast<long double>(got) - want) / step);
}

/// The worst over n numbers, evenly spread from lo to hi.
template <class T, class F, class G>
double worst(T lo, T hi, F f, G reference, int n = 200'000) {
  double most = 0;
  for (int i = 0; i <= n; ++i) {
    const T x = lo + (hi - lo) * (static_cast<T>(i) / static_cast<T>(n));
    most = std::max(most, ulps(f(x), reference(static_cast<long double>(x))));
  }
  return most;
}

const auto exp_l = [](long double x) { return std::exp(x); };
const auto tanh_l = [](long double x) { return std::tanh(x); };
const auto cdf_l = [](long double x) {
  return std::erfc(-x / std::numbers::sqrt2_v<long double>) / 2;
};
const auto density_l = [](long double x) {
  return std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi_v<long double>);
};

TEST(VectorMath, ExpIsNearTheLibrary) {
  const auto f = [](float x) { return exp(x); };
  EXPECT_LE(worst(-103.5F, 88.7F, f, exp_l), 1.1);
  EXPECT_LE(worst(-1.0F, 1.0F, f, exp_l), 1.1);
  const auto d = [](double x) { return exp(x); };
  EXPECT_LE(worst(-745.0, 709.7, d, exp_l), 1.0);
  EXPECT_LE(worst(-1.0, 1.0, d, exp_l), 1.0);
}

template <class T>
void expect_limits_of_exp() {
  EXPECT_EQ(exp(-kInf<T>), T(0));
  EXPECT_EQ(exp(kInf<T>), kInf<T>);
  EXPECT_EQ(exp(T(0)), T(1));
  EXPECT_EQ(exp(T(-0.0)), T(1));
  EXPECT_TRUE(std::isnan(exp(std::numeric_limits<T>::quiet_NaN())));
  EXPECT_EQ(exp(std::numeric_limits<T>::lowest()), T(0));
  EXPECT_EQ(exp(std::numeric_limits<T>::max()), kInf<T>);
  EXPECT_EQ(exp(std::numeric_limits<T>::denorm_min()), T(1));
}

TEST(VectorMath, ExpHasTheLimitsOfTheLibrary) {
  expect_limits_of_exp<float>();
  expect_limits_of_exp<double>();
  EXPECT_EQ(exp(-103.0F), std::exp(-103.0F));  // denormal
  EXPECT_EQ(exp(88.8F), kInf<float>);
  EXPECT_EQ(exp(-104.1F), 0.0F);
  EXPECT_EQ(exp(709.9), kInf<double>);
  EXPECT_EQ(exp(-745.2), 0.0);
}

TEST(VectorMath, TanhIsWithinTwoUlps) {
  const auto f = [](float x) { return tanh(x); };
  EXPECT_LE(worst(-10.0F, 10.0F, f, tanh_l), 2.0);
  EXPECT_LE(worst(-0.7F, 0.7F, f, tanh_l), 2.0);
  EXPECT_LE(worst(0.0F, 1e-6F, f, tanh_l), 2.0);
  EXPECT_EQ(tanh(kInf<float>), 1.0F);
  EXPECT_EQ(tanh(-kInf<float>), -1.0F);
  EXPECT_TRUE(std::signbit(tanh(-0.0F)));
  EXPECT_TRUE(std::isnan(tanh(std::numeric_limits<float>::quiet_NaN())));
}

TEST(VectorMath, LogIsNearTheLibrary) {
  const auto f = [](double x) { return log(x); };
  const auto log_l = [](long double x) { return std::log(x); };
  EXPECT_LE(worst(0.4, 2.5, f, log_l), 2.0);
  EXPECT_LE(worst(1.0 - 1e-9, 1.0, f, log_l), 2.0);
  EXPECT_LE(worst(1e-300, 1e300, f, log_l), 2.0);
  EXPECT_LE(worst(0x1p-53, 1e-10, f, log_l), 2.0);
  EXPECT_EQ(log(1.0), 0.0);
}

TEST(VectorMath, SineAndCosineOfATurn) {
  for (int i = 0; i < 100'000; ++i) {
    const double u = i / 100'000.0;
    const long double angle = 2 * std::numbers::pi_v<long double> * static_cast<long double>(u);
    const SinCos got = sincos_of_turn(u);
    ASSERT_NEAR(got.sin, static_cast<double>(std::sin(angle)), 0x1p-52) << u;
    ASSERT_NEAR(got.cos, static_cast<double>(std::cos(angle)), 0x1p-52) << u;
  }
  EXPECT_EQ(sincos_of_turn(0.25).sin, 1.0);
  EXPECT_EQ(sincos_of_turn(0.5).cos, -1.0);
}

TEST(VectorMath, TheNormalDistributionHoldsIntoItsTail) {
  const auto cdf = [](float x) { return normal(x).cdf; };
  EXPECT_LE(worst(-13.0F, 6.0F, cdf, cdf_l), 8.0);
  EXPECT_LE(worst(-0.1F, 0.1F, cdf, cdf_l), 8.0);
  EXPECT_LE(worst(
                -12.0F, 12.0F, [](float x) { return normal(x).density; }, density_l),
            5.0);
  EXPECT_EQ(normal(-kInf<float>).cdf, 0.0F);
  EXPECT_EQ(normal(kInf<float>).cdf, 1.0F);
  EXPECT_EQ(normal(kInf<float>).density, 0.0F);
  EXPECT_TRUE(std::isnan(normal(std::numeric_limits<float>::quiet_NaN()).cdf));
  EXPECT_DOUBLE_EQ(normal(0.3).cdf, 0.5 * std::erfc(-0.3 / std::numbers::sqrt2));
}

}  // namespace
}  // namespace autograd::vector_math
