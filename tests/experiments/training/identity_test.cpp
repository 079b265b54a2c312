#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "experiments/training/attention_runs.h"
#include "tests/experiments/command_run.h"

namespace experiments::training {
namespace {

using autograd::DType;
using test::cell;
using test::in_process;
using testing::HasSubstr;

Gap gap_after_50_steps(const AttentionSetting& setting, const Factors& factors) {
  AttentionRuns runs(setting, std::vector{factors});
  const double start = runs.scaled_loss();
  runs.train(50);
  EXPECT_LT(runs.scaled_loss(), start);  // it learns
  return runs.gaps().front();
}

std::vector<AttentionSetting> settings(Index d_k) {
  std::vector<AttentionSetting> all;
  for (const DType dtype : {DType::f32, DType::f64})
    for (const Rule rule : kRules)
      all.push_back({.d_k = d_k, .learning_rate = 0.003, .rule = rule, .dtype = dtype, .seed = 5});
  return all;
}

TEST(Identity, RescaledRunsHaveTheBitsOfTheScaledOne) {
  for (const Index d_k : {1, 16, 256}) {
    for (const AttentionSetting& s : settings(d_k)) {
      const Gap gap = gap_after_50_steps(s, equivalent(s.rule, d_k));
      EXPECT_EQ(gap.outputs, 0) << d_k << ' ' << name(s.rule);
      EXPECT_EQ(gap.weights, 0) << d_k << ' ' << name(s.rule);
    }
  }
}

/// Each factor alone, with another power of d, makes another run of it.
TEST(Identity, EveryFactorCounts) {
  for (const AttentionSetting& s : settings(16)) {
    const Factors right = equivalent(s.rule, 16);
    Factors start = right, rate = right, decay = right, eps = right;
    start.start = 0.25;  // d^(-1/2)
    rate.rate *= 2;
    decay.decay /= 2;
    eps.eps = 1;
    std::vector<Factors> wrong{start, rate};
    if (s.rule != Rule::sgd) wrong.push_back(decay);  // sgd has none
    if (s.rule == Rule::adamw) wrong.push_back(eps);
    for (std::size_t i = 0; i < wrong.size(); ++i)
      EXPECT_GT(gap_after_50_steps(s, wrong[i]).outputs, 1e-7) << name(s.rule) << ' ' << i;
  }
}

TEST(Identity, ElsewhereTheRunsAreOneButForRounding) {
  for (const AttentionSetting& s : settings(24)) {
    AttentionRuns runs(s, std::vector{equivalent(s.rule, 24)});
    runs.train(10);
    const Gap& gap = runs.gaps().front();
    EXPECT_GT(gap.weights, 0) << name(s.rule);
    EXPECT_LT(gap.outputs, s.dtype == DType::f32 ? 1e-4 : 1e-12) << name(s.rule);
  }
}

TEST(Identity, KnowsThePowersOf16) {
  for (const Index d : {1, 16, 256, 4096}) EXPECT_TRUE(is_power_of_16(d)) << d;
  for (const Index d : {2, 4, 8, 15, 32, 48, 64, 1024}) EXPECT_FALSE(is_power_of_16(d)) << d;
}

TEST(Identity, ARunThatLeavesTheNumbersIsNotEqual) {
  AttentionSetting s{.learning_rate = 0.003, .rule = Rule::sgd};
  AttentionRuns runs(s, std::vector{Factors{.start = 1e200}});
  EXPECT_TRUE(std::isnan(runs.gaps().front().outputs));
  runs.train(1);
  EXPECT_TRUE(std::isnan(runs.gaps().front().outputs));
}

TEST(Identity, RefusesAScaledRunThatDiverges) {
  const AttentionSetting s{.learning_rate = 1e30, .rule = Rule::momentum, .dtype = DType::f32};
  AttentionRuns runs(s, std::vector<Factors>{});
  EXPECT_THROW(
      {
        try {
          runs.train(50);
        } catch (const autograd::NumericError& error) {
          EXPECT_THAT(error.what(), HasSubstr("d_k 16, f32, momentum: the scaled run's loss is"));
          throw;
        }
      },
      autograd::NumericError);
}

TEST(Identity, ChecksEveryRescaledRun) {
  const Report report =
      test::run_experiment(test::make("identity"), {"--dk", "16,20", "--steps", "20"}, {.seed = 3});
  ASSERT_EQ(report.checks.size(), 12u);
  ASSERT_EQ(report.rows.size(), 28u);
  for (std::size_t i = 0; i < 12; ++i) {
    EXPECT_EQ(report.checks[i].kind, i < 6 ? CheckKind::identity : CheckKind::bound);
    EXPECT_TRUE(report.checks[i].ok) << report.checks[i].name;
  }
  for (std::size_t row = 0; row < 28; ++row) {
    const std::string variant = cell<std::string>(report, row, "variant");
    const double difference = cell<double>(report, row, "output_difference");
    if (variant != "rescaled") {
      EXPECT_GT(difference, variant == "plain" ? 0.01 : 0) << row;
    }
  }
  EXPECT_THAT(report.notes[2], HasSubstr("6 of 12 rescaled runs equal"));
}

TEST(Identity, SaysTheSameForAnyThreadCount) {
  test::expect_same_bytes({"identity", "--steps", "12", "--dk", "16"});
  test::expect_narrow(in_process({"identity", "--steps", "2"}).out);
}

TEST(Identity, RefusesWhatItCannotRun) {
  EXPECT_EQ(in_process({"identity", "--seq-len", "1"}).err,
            "error: --seq-len: expected a whole number in [2, 512], got '1'\n");
  EXPECT_EQ(in_process({"identity", "--steps", "0"}).code, 2);
  EXPECT_EQ(in_process({"identity", "--learning-rate", "0"}).code, 2);
}

}  // namespace
}  // namespace experiments::training
