#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "experiments/softmax/scaling_conclusions.h"

namespace experiments::softmax {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// Cells with a made-up median gain; all else stays the same along d_k.
Series series(const char* scale, std::vector<double> gains, Index first = 4) {
  Series cells;
  for (const double gain : gains) {
    Cell cell{};
    cell.setting.d_k = first << cells.size();
    cell.scale = scale;
    cell.factor = std::string(scale) == "none" ? 1 : 0.1;
    cell.gain.median = gain;
    cell.jacobian.mean = 0.3;
    cell.ds = cell.dq = cell.step = {.mean = 1, .median = 1, .p95 = 1, .rms = 1.1};
    cells.push_back(cell);
  }
  return cells;
}

Series exponential(double slope, double noise = 0) {
  std::vector<double> gains;
  for (const Index d : {4, 8, 16, 32, 64, 128}) {
    const double sign = gains.size() % 2 ? 1 : -1;
    gains.push_back(0.1 * std::exp(slope * std::sqrt(static_cast<double>(d)) + sign * noise));
  }
  return series("none", gains);
}

TEST(Verdict, NamesWhatTheFitFinds) {
  EXPECT_THAT(verdict(fit_gain(exponential(-0.4))),
              AllOf(HasSubstr("slope -0.4 per"), HasSubstr("dies exponentially")));
  EXPECT_THAT(verdict(fit_gain(exponential(0.4))), HasSubstr("grows"));
  EXPECT_THAT(verdict(fit_gain(exponential(-0.005))), HasSubstr(": flat"));
  EXPECT_THAT(verdict(fit_gain(exponential(-0.02, 0.5))), HasSubstr("undecided"));
  EXPECT_THAT(verdict(fit_gain(series("none", {1, 0.5, 0.25, 0.125, 0.0625}))),  // 4 / d
              HasSubstr("falls, but not exponentially"));
}

TEST(Verdict, IsModestWithFewSizes) {
  EXPECT_THAT(verdict(fit_gain(series("none", {0.1}))), HasSubstr("no slope"));
  EXPECT_THAT(verdict(fit_gain(series("none", {0.1, 0.01}))),
              AllOf(HasSubstr("no interval"), Not(HasSubstr("exponentially"))));
}

TEST(Verdict, LeavesOutWhatIsRounding) {
  Series some = exponential(-0.4);
  some[4].gain.median = 1e-17;
  some[5].gain.median = 0;
  const GainFit fit = fit_gain(some);
  EXPECT_NEAR(fit.line.slope, -0.4, 1e-9);
  EXPECT_EQ(fit.left_out, (std::vector<Index>{64, 128}));
  EXPECT_THAT(verdict(fit), HasSubstr("left out, below rounding: d_k = 64, 128"));
}

TEST(Sparklines, ShareOneScale) {
  const std::vector<Series> all{series("none", {0.1, 0.01, 0.001, 0}),
                                series("sqrt_dk", {0.1, 0.1, 0.1, 0.1})};
  EXPECT_EQ(sparklines(all, report::Glyphs::ascii)[1], "sqrt_dk  ####  0.1 to 0.1");
  EXPECT_THAT(sparklines(all, report::Glyphs::ascii)[0], StartsWith("none     #"));
  EXPECT_THAT(sparklines(all, report::Glyphs::unicode)[1], HasSubstr("████"));
  EXPECT_THAT(sparklines(all, report::Glyphs::unicode)[0], HasSubstr(" 0.1 to 0"));
}

TEST(Sparkline, MapsTheRangeToEightHeights) {
  const std::vector<double> powers{1, 2, 4, 8, 16, 32, 64, 128, 256};
  EXPECT_EQ(report::sparkline(powers, 1, 256, report::Glyphs::ascii), "_.:-=+*##");
  const std::vector<double> odd{0, -1, std::numeric_limits<double>::quiet_NaN(), 1000, 0.001};
  EXPECT_EQ(report::sparkline(odd, 1, 256, report::Glyphs::ascii), "   #_");
  const std::vector<double> one{5};
  EXPECT_EQ(report::sparkline(one, 5, 5, report::Glyphs::unicode), "▅");
}

// The sentences of two scales; the last cell of the first one is at hand.
std::vector<std::string> said(Series none, const Series& other) {
  const std::vector<Series> all{std::move(none), other};
  return conclusions(all);
}

TEST(Conclusions, SayWhatTheMedianRowDoes) {
  const Series scaled = series("sqrt_dk", {0.07, 0.07, 0.07});
  EXPECT_THAT(said(series("none", {0.07, 0.01, 0.001}), scaled)[0],
              AllOf(StartsWith("The typical row all but stops learning under none"),
                    HasSubstr("0.001, against 0.07 under sqrt_dk (70 times smaller)")));
  EXPECT_THAT(said(series("none", {0.07, 0.01, 0.001}), scaled)[1],
              AllOf(HasSubstr("falls 70-fold (0.07 to 0.001)"),
                    HasSubstr("under sqrt_dk it stays (0.07 to 0.07)")));
  EXPECT_THAT(said(series("none", {0.07, 0.06, 0.05}), scaled)[0],
              StartsWith("The typical row learns less under none"));
  EXPECT_THAT(said(series("none", {0.07, 0.07, 0.071}), scaled)[0],
              StartsWith("The typical row learns alike under none"));
  EXPECT_THAT(said(series("none", {0.07, 0.1, 0.7}), scaled)[0],
              AllOf(HasSubstr("the usual story turns around"), HasSubstr("learns more under none"),
                    HasSubstr("10 times larger")));
  Series dead = series("none", {0.07, 0.01, 0.001}), both = scaled;
  dead.back().dead_rows = 0.6;
  EXPECT_THAT(said(dead, scaled)[0], StartsWith("Most rows stop learning under none:"));
  both.back().dead_rows = 0.9;
  EXPECT_THAT(said(dead, both)[0],
              StartsWith("Most rows stop learning under none, and under sqrt_dk too:"));
}

TEST(Conclusions, SayWhatIsLostInRounding) {
  const auto sentences = said(series("none", {0.1, 1e-40}), series("sqrt_dk", {0.1, 1e-50}));
  EXPECT_THAT(sentences[0], HasSubstr("both lost in rounding"));
  EXPECT_THAT(sentences[1], HasSubstr("falls at least 5.63e+13-fold"));
}

// The means, from the first size to the last under `none`.
std::string means(double gain, const measure::Summary& dq, double step) {
  Series none = series("none", {0.1, gain});
  none[1].dq = dq;
  none[1].step.mean = step;
  return said(none, series("sqrt_dk", {0.1, 0.1}))[2];
}

TEST(Conclusions, SayWhatTheMeansAddUpTo) {
  const measure::Summary same{1, 1, 1, 1.1}, spiky{1, 1, 1, 3}, less{0.1, 0.1, 0.1, 0.11},
      more{3, 3, 3, 3.3};
  EXPECT_THAT(means(0.001, spiky, 5),
              AllOf(HasSubstr("the gradient of q, |dQ|, stays (1 to 1)"),
                    HasSubstr("its root mean square grows 2.73-fold (1.1 to 3)"),
                    HasSubstr("rare, spiky and far too hot rather than simply starved")));
  EXPECT_THAT(means(0.001, spiky, 1), HasSubstr("rare and spiky rather than simply starved"));
  EXPECT_THAT(means(0.001, less, 0.1), HasSubstr("starved, in the mean as in the median"));
  const measure::Summary a_little_less{0.85, 1, 1, 1.1};  // more than 10 percent is a change
  EXPECT_THAT(means(0.001, a_little_less, 1), HasSubstr("starved, in the mean"));
  EXPECT_THAT(means(0.001, same, 1), HasSubstr("no less is learnt in the mean"));
  EXPECT_THAT(means(0.1, more, 5), HasSubstr("not starved but too hot"));
  EXPECT_THAT(means(0.1, same, 1), HasSubstr("nothing vanishes"));
  EXPECT_THAT(means(0.1, less, 1), HasSubstr("weaker all over"));
}

TEST(Conclusions, WorkWithOneScaleOrOneSize) {
  const std::vector<Series> one_scale{series("sqrt_dk", {0.07, 0.07})};
  EXPECT_EQ(conclusions(one_scale)[0],
            "From d_k = 4 to 8 the median gain under sqrt_dk stays (0.07 to 0.07).");
  const std::vector<Series> one_size{series("none", {0.01}), series("sqrt_dk", {0.07})};
  EXPECT_THAT(conclusions(one_size)[1],
              HasSubstr("under none, against sqrt_dk, the gradient of q, |dQ|, is"));
  const std::vector<Series> one{series("dk", {0.01})};
  EXPECT_EQ(conclusions(one), std::vector<std::string>{"The median gain under dk is 0.01."});
}

TEST(NextCommand, LeadsSomewhereElse) {
  std::vector<Series> all{series("none", {0.1, 0.1}), series("sqrt_dk", {0.1, 0.1})};
  EXPECT_THAT(next_command(all), StartsWith("gradlab scaling --seq-len 1024 --dk 64 "));
  for (Series& s : all) s.back().setting.seq_len = 1024;
  EXPECT_THAT(next_command(all), HasSubstr("--init lesson"));
  for (Series& s : all) s.back().setting.init = nn::Init::lesson;
  EXPECT_THAT(next_command(all), HasSubstr("--init torch"));
  EXPECT_THAT(next_command(std::vector<Series>{series("none", {0.1})}), HasSubstr("--scale"));
}

}  // namespace
}  // namespace experiments::softmax
