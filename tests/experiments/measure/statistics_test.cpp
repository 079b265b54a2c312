#include "experiments/measure/statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace experiments::measure {
namespace {

TEST(Quantile, InterpolatesBetweenOrderStatistics) {
  std::vector<double> v{3, 1, 4, 1, 5, 9, 2, 6};
  EXPECT_DOUBLE_EQ(quantile(v, 0.5), 3.5);
  EXPECT_DOUBLE_EQ(quantile(v, 0.95), 7.95);  // numpy.percentile(v, 95)
  EXPECT_EQ(quantile(v, 0), 1);
  EXPECT_EQ(quantile(v, 1), 9);
  std::vector<double> one{7};
  EXPECT_EQ(quantile(one, 0.95), 7);
  EXPECT_TRUE(std::isnan(quantile({}, 0.5)));
}

TEST(Summarize, GivesTheFourNumbersAndLeavesTheValuesAlone) {
  const std::vector<double> v{3, 1, 4, 1, 5, 9, 2, 6}, before = v;
  const Summary s = summarize(v);
  EXPECT_DOUBLE_EQ(s.mean, 3.875);
  EXPECT_DOUBLE_EQ(s.median, 3.5);
  EXPECT_DOUBLE_EQ(s.p95, 7.95);
  EXPECT_DOUBLE_EQ(s.rms, 4.650268809434569);
  EXPECT_EQ(v, before);
}

TEST(Summarize, IsNaNWhereAValueIsNotFinite) {
  for (const double bad :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    const std::vector<double> v{1, bad, 2};
    EXPECT_TRUE(std::isnan(summarize(v).mean));
    EXPECT_TRUE(std::isnan(summarize(v).median));
  }
}

// Rows of a trial that move together count once.
TEST(GroupedMean, TakesTheErrorOverGroups) {
  const std::vector<double> rows{1, 1, 2, 2, 3, 3, 6, 6};
  const Estimate trials = grouped_mean(rows, 2);
  EXPECT_EQ(trials.groups, 4);
  EXPECT_DOUBLE_EQ(trials.mean, 3);
  EXPECT_DOUBLE_EQ(trials.error, std::sqrt(14.0 / 3 / 4));
  EXPECT_LT(grouped_mean(rows, 1).error, 0.8 * trials.error);
  EXPECT_TRUE(std::isnan(grouped_mean(rows, 8).error));  // one group has no spread
}

TEST(StudentT, HasTheTailsOfTheTables) {
  EXPECT_NEAR(student_t_tail(2.228138852, 10), 0.05, 1e-9);
  EXPECT_NEAR(student_t_tail(12.7062047362, 1), 0.05, 1e-9);
  EXPECT_NEAR(student_t_tail(3, 5), 0.030099247879, 1e-9);
  EXPECT_NEAR(student_t_tail(2, 1e8), std::erfc(std::sqrt(2.0)), 1e-8);
  EXPECT_NEAR(student_t_tail(0, 3), 1, 1e-12);
  EXPECT_NEAR(student_t_critical(0.05, 30), 2.0422724563, 1e-8);
}

TEST(FourSigma, GrowsWithFewDegreesOfFreedomAndManyTests) {
  EXPECT_NEAR(four_sigma(1e9, 1), 4, 1e-6);
  EXPECT_NEAR(four_sigma(249, 1), 4.069319195, 1e-6);
  EXPECT_NEAR(four_sigma(24, 1), 4.833996042, 1e-6);
  // Two-sided 6.334e-5 / 100 is exceeded beyond 4.9799 by a normal.
  EXPECT_NEAR(std::erfc(four_sigma(1e9, 100) / std::sqrt(2.0)), std::erfc(4 / std::sqrt(2.0)) / 100,
              1e-11);
}

TEST(Tolerance, OfTwoEstimatesCombinesTheirErrors) {
  const Estimate wide{0, 0.3, 1'000'000}, narrow{0, 0.4, 1'000'000}, few{0, 0.4, 25};
  EXPECT_NEAR(tolerance(wide, 1), 1.2, 1e-4);
  EXPECT_NEAR(tolerance(wide, narrow, 1), 2.0, 1e-4);
  EXPECT_GT(tolerance(wide, few, 1), 2.1);  // Welch: the degrees of freedom of the uncertain one
  EXPECT_DOUBLE_EQ(tolerance(few, wide, 1), tolerance(wide, few, 1));
  EXPECT_EQ(tolerance({1, 0, 10}, {1, 0, 10}, 1), 0);
}

TEST(FitLine, MatchesNumpy) {
  const std::vector<double> x{2, 3, 5, 8, 13}, y{1.2, 0.7, 0.1, -1.2, -3.1};
  const LineFit fit = fit_line(x, y);
  EXPECT_EQ(fit.points, 5);
  EXPECT_NEAR(fit.slope, -0.38883249, 1e-8);
  EXPECT_NEAR(fit.intercept, 1.95076142, 1e-8);
  EXPECT_NEAR(fit.half_width, 0.027902669, 1e-8);  // 3.1824463 standard errors
  EXPECT_NEAR(fit.r2, 0.99847698719, 1e-10);
}

TEST(FitLine, SaysWhatFewPointsCannotTell) {
  const std::vector<double> x{1, 2}, y{5, 3};
  EXPECT_DOUBLE_EQ(fit_line(x, y).slope, -2);
  EXPECT_TRUE(std::isnan(fit_line(x, y).half_width));
  EXPECT_TRUE(std::isnan(fit_line(std::span(x).first(1), std::span(y).first(1)).slope));
  const std::vector<double> same{2, 2};
  EXPECT_TRUE(std::isnan(fit_line(same, y).slope));
}

}  // namespace
}  // namespace experiments::measure
