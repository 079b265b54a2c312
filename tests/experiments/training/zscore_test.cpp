#include "experiments/training/zscore.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace {

using experiments::training::ZScore;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

double wave(int i) { return 3 + std::sin(1.7 * i) + 0.3 * std::sin(0.9 * i * i); }

ZScore after(int values) {
  ZScore score;
  for (int i = 0; i < values; ++i) (void)score.add(wave(i));
  return score;
}

TEST(ZScore, GivesNoVerdictWhileItWarmsUp) {
  ZScore score;
  for (int i = 0; i < 20; ++i) EXPECT_FALSE(score.add(wave(i))) << i;
  EXPECT_TRUE(score.add(wave(20)));
}

// Against the weighted sums written out, each value weighing 2^(-age / 50).
TEST(ZScore, IsTheWeightedMeanAndDeviationOfWhatCameBefore) {
  const int n = 130;
  double weights = 0, squared = 0, sum = 0;
  const auto weight = [n](int i) { return std::exp2(-(n - 1 - i) / 50.0); };
  for (int i = 0; i < n; ++i) {
    weights += weight(i);
    squared += weight(i) * weight(i);
    sum += weight(i) * wave(i);
  }
  const double mean = sum / weights;
  double squares = 0;
  for (int i = 0; i < n; ++i) squares += weight(i) * (wave(i) - mean) * (wave(i) - mean);
  const double deviation = std::sqrt(squares / (weights - squared / weights));

  ZScore score = after(n);
  EXPECT_NEAR(score.mean(), mean, 1e-12);
  EXPECT_NEAR(score.deviation(), deviation, 1e-12);
  EXPECT_NEAR(score.add(7.5).value(), (7.5 - mean) / deviation, 1e-9);
}

TEST(ZScore, ValuesThatAreNotFiniteAreFarOffAndDoNotCount) {
  ZScore score = after(60);
  const ZScore before = score;
  EXPECT_EQ(score.add(kNan), kInf);
  EXPECT_EQ(score.add(kInf), kInf);
  EXPECT_EQ(score.add(-kInf), -kInf);
  EXPECT_EQ(score.mean(), before.mean());
  EXPECT_EQ(score.deviation(), before.deviation());
  EXPECT_EQ(score.count(), before.count());
  ZScore young;
  EXPECT_FALSE(young.add(kNan));
  EXPECT_EQ(young.count(), 0);
}

TEST(ZScore, SurvivesHugeValues) {
  ZScore score = after(60);
  EXPECT_GT(score.add(1e300).value(), 1e299);
  EXPECT_LT(score.add(-1.7e308).value(), -1e299);
  EXPECT_NEAR(score.add(3).value(), 0, 1);
}

TEST(ZScore, OfAConstantSeries) {
  ZScore score;
  for (int i = 0; i < 40; ++i) (void)score.add(0.1);
  EXPECT_EQ(score.add(0.1), 0);
  EXPECT_NEAR(score.add(0.1 * (1 + 1e-12)).value(), 0, 0.01);  // rounding is no event
  EXPECT_GT(score.add(0.2).value(), 1e6);
  ZScore zero;
  for (int i = 0; i < 40; ++i) (void)zero.add(0);
  EXPECT_EQ(zero.add(0), 0);
  EXPECT_EQ(zero.add(-1), -kInf);
}

}  // namespace
