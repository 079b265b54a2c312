#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "experiments/softmax/variance_pairs.h"
#include "tests/experiments/command_run.h"

namespace experiments::softmax {
namespace {

using test::cell;
using test::run_experiment;
using testing::HasSubstr;

const auto kSilent = [](double) {};

// Leaves each batch out by going over all of them again.
TEST(Variance, TheKurtosisIsThatOfTheJackknife) {
  const std::vector<double> square{1, 2, 1.5, .7, 3}, fourth{4, 9, 6, 2, 30};
  const auto kurtosis = [&](std::size_t without) {
    double m2 = 0, m4 = 0, n = 0;
    for (std::size_t i = 0; i < square.size(); ++i) {
      if (i == without) continue;
      m2 += square[i];
      m4 += fourth[i];
      ++n;
    }
    return m4 / n / (m2 / n * m2 / n) - 3;
  };
  const double n = 5;
  std::vector<double> parts;
  for (std::size_t i = 0; i < square.size(); ++i) parts.push_back(kurtosis(i));
  const double middle = measure::mean(parts);
  double spread = 0;
  for (const double part : parts) spread += (part - middle) * (part - middle);
  const measure::Estimate found = excess_kurtosis(square, fourth);
  EXPECT_NEAR(found.mean, n * kurtosis(99) - (n - 1) * middle, 1e-12);
  EXPECT_NEAR(found.error, std::sqrt((n - 1) / n * spread), 1e-12);
  EXPECT_EQ(found.groups, 5);
}

// The error is what estimates of other seeds scatter by.
TEST(Variance, TheErrorOfTheKurtosisIsItsScatter) {
  std::vector<double> estimates, errors;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const PairScores scores = run_pairs({.d = 4, .batches = 64, .seed = seed}, kSilent);
    const measure::Estimate estimate = excess_kurtosis(scores.square, scores.fourth);
    estimates.push_back(estimate.mean);
    errors.push_back(estimate.error);
  }
  const measure::Estimate all = measure::grouped_mean(estimates, 1);
  EXPECT_NEAR(all.mean, 1.5, 4 * all.error);
  const double scatter = all.error * std::sqrt(40);
  EXPECT_NEAR(measure::mean(errors), scatter, 0.4 * scatter);
}

TEST(Variance, CountsEveryScoreOnce) {
  const PairScores scores = run_pairs({.d = 1, .batches = 70}, kSilent);
  EXPECT_EQ(std::accumulate(scores.bins.begin(), scores.bins.end(), std::int64_t{0}), 70 * kPairs);
  EXPECT_GT(scores.bins.front(), 0);
  EXPECT_GT(scores.bins.back(), 0);
  double normal = 0;
  for (std::size_t bin = 0; bin < kBins; ++bin) normal += normal_share(bin);
  EXPECT_NEAR(normal, 1, 1e-12);
  EXPECT_EQ(bin_edge(1), -4);
  EXPECT_EQ(bin_edge(kBins - 1), 4);
  EXPECT_NEAR(normal_share(9), .19146, 1e-5);  // 0 to 0.5
}

// For large d the scores are as good as normal.
TEST(Variance, ScoresOfManyProductsFallAsTheNormalCurveSays) {
  const PairScores scores = run_pairs({.d = 512, .batches = 256}, kSilent);
  for (std::size_t bin = 0; bin < kBins; ++bin) {
    const double share = static_cast<double>(scores.bins[bin]) / (256 * kPairs);
    EXPECT_NEAR(share, normal_share(bin), 0.005) << bin;
  }
}

TEST(Variance, ChecksHoldForAnySeedAndType) {
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    const experiments::Run with{.seed = seed,
                                .dtype = seed % 2 ? autograd::DType::f32 : autograd::DType::f64,
                                .quick = true};
    const Report report = run_experiment(test::make("variance"), {}, with);
    EXPECT_EQ(report.checks.size(), 20u);
    for (const Check& check : report.checks) {
      EXPECT_TRUE(check.ok) << check.name << ", seed " << seed << ": " << check.measured;
    }
  }
}

TEST(Variance, FindsBothLaws) {
  const Report report = run_experiment(test::make("variance"), {"--dk", "16,2"});
  ASSERT_EQ(report.rows.size(), 2u);
  EXPECT_EQ(cell<std::int64_t>(report, 0, "d_k"), 2);
  EXPECT_EQ(cell<std::int64_t>(report, 0, "pairs"), 1 << 20);
  EXPECT_NEAR(cell<double>(report, 0, "variance"), 2, .08);
  EXPECT_NEAR(cell<double>(report, 0, "excess_kurtosis"), 3, .35);
  EXPECT_NEAR(cell<double>(report, 1, "variance"), 16, .25);
  EXPECT_NEAR(cell<double>(report, 1, "excess_kurtosis"), .375, .05);
  EXPECT_EQ(cell<double>(report, 1, "excess_kurtosis_expected"), .375);
}

TEST(Variance, DrawsTheHistogram) {
  const std::vector<std::string> words{"--dk", "2,64", "--histogram", "64"};
  const Report ascii =
      run_experiment(test::make("variance"), words, {.quick = true, .unicode = false});
  EXPECT_THAT(ascii.notes[2], HasSubstr("at d_k = 64"));
  const std::string& middle = ascii.notes[3 + 9];
  EXPECT_THAT(middle, HasSubstr("0.0 to 0.5  ######"));
  EXPECT_THAT(middle, HasSubstr("|"));
  const Report unicode = run_experiment(test::make("variance"), words, {.quick = true});
  EXPECT_THAT(unicode.notes[3 + 9], HasSubstr("█████"));
  EXPECT_THAT(unicode.notes[3 + 9], HasSubstr("│"));
  EXPECT_EQ(report::display_width(unicode.notes[3 + 9]), report::display_width(middle));
}

TEST(Variance, RefusesAHistogramOfWhatIsNotMeasured) {
  EXPECT_EQ(test::in_process({"variance", "--dk", "4,8", "--histogram", "5"}).err,
            "error: --histogram: expected one of --dk 4,8, got '5'\n");
}

TEST(Variance, SaysTheSameForAnyThreadCount) {
  test::expect_same_bytes({"variance", "--quick", "--dk", "3,32"});
  test::expect_narrow(test::in_process({"variance", "--quick"}).out);
}

}  // namespace
}  // namespace experiments::softmax
