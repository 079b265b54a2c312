#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "experiments/training/sharpness_run.h"
#include "tests/experiments/command_run.h"

namespace experiments::training {
namespace {

using test::cell;
using test::in_process;
using test::run_experiment;
using testing::HasSubstr;

TEST(Sharpness, IsTheLargestEigenvalueOfTheDenseHessian) {
  for (const char* scale : {"none", "sqrt_dk"}) {
    SharpnessRun run({.d_k = 4,
                      .scale = nn::Scale::parse(scale),
                      .batch_size = 2,
                      .seq_len = 5,
                      .width = 3,
                      .learning_rate = 0.5,
                      .seed = 7});
    for (int i = 0; i < 20; ++i) {
      if (i % 10 == 0) {
        const Index n = run.parameter_count();
        EXPECT_EQ(n, 2 * 3 * 4 + 3 * 3);
        const double dense = measure::eigenvalues(run.dense_hessian(), n).back();
        EXPECT_NEAR(run.sharpness().value, dense, 1e-6 * dense) << scale;
      }
      run.step();
    }
  }
}

/// Below 2 / sharpness the loss falls at every step; far above it does not.
TEST(Sharpness, SaysWhichStepsAreStable) {
  const SharpnessOptions options{.seed = 1};
  const double sharpness = SharpnessRun(options).sharpness().value;
  const auto change = [&](double rate) {
    SharpnessOptions with = options;
    with.learning_rate = rate;
    SharpnessRun run(with);
    const double before = run.loss();
    run.step();
    return run.loss() - before;
  };
  EXPECT_LT(change(1 / sharpness), 0);
  EXPECT_GT(change(20 / sharpness), 0);
}

TEST(Sharpness, AStepIsGradientDescent) {
  SharpnessRun small({.learning_rate = 1e-4, .seed = 2}), none({.learning_rate = 1e-12, .seed = 2});
  const double start = small.loss();
  small.step();
  none.step();
  EXPECT_LT(small.loss(), start);
  EXPECT_NEAR(none.loss(), start, 1e-10);
}

TEST(Sharpness, RisesToTheEdgeOfStability) {
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    const Report report = run_experiment(test::make("sharpness"),
                                         {"--dk", "256", "--scale", "sqrt_dk"}, {.seed = seed});
    ASSERT_EQ(report.rows.size(), 5u);
    EXPECT_LT(cell<double>(report, 0, "share"), 0.9) << seed;
    EXPECT_NEAR(cell<double>(report, 4, "share"), 1, 0.2) << seed;
    EXPECT_LT(cell<double>(report, 4, "loss"), cell<double>(report, 0, "loss")) << seed;
    for (const Check& check : report.checks) EXPECT_TRUE(check.ok) << check.name << ' ' << seed;
    EXPECT_THAT(testing::PrintToString(report.notes), HasSubstr("times 2 / rate: "));
  }
}

TEST(Sharpness, TheScaleFlattensTheStart) {
  const Report report = run_experiment(test::make("sharpness"), {"--dk", "64,256", "--steps", "0"});
  ASSERT_EQ(report.rows.size(), 4u);
  for (const std::size_t row : {0u, 2u}) {
    EXPECT_EQ(cell<std::string>(report, row, "scale"), "none");
    EXPECT_GT(cell<double>(report, row, "sharpness"),
              2 * cell<double>(report, row + 1, "sharpness"));
  }
}

TEST(Sharpness, EndsARunThatDiverges) {
  const Report report = run_experiment(test::make("sharpness"),
                                       {"--dk", "4", "--learning-rate", "1e5", "--every", "10"});
  EXPECT_LT(report.rows.size(), 20u);
  EXPECT_THAT(testing::PrintToString(report.notes), HasSubstr("the run ends"));
  EXPECT_FALSE(report.failed);
}

TEST(Sharpness, SaysTheSameForAnyThreadCount) {
  test::expect_same_bytes({"sharpness", "--quick", "--every", "50"});
  test::expect_narrow(in_process({"sharpness", "--quick"}).out);
}

TEST(Sharpness, RefusesWhatItCannotRun) {
  EXPECT_EQ(in_process({"sharpness", "--dtype", "f32"}).err,
            "error: --dtype: second derivatives are computed in f64; got 'f32'\n");
  EXPECT_EQ(in_process({"sharpness", "--learning-rate", "0"}).code, 2);
  EXPECT_EQ(in_process({"sharpness", "--every", "0"}).code, 2);
}

}  // namespace
}  // namespace experiments::training
