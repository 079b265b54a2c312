#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "autograd/machine/sanitizer.h"
#include "experiments/training/recall_words.h"
#include "tests/experiments/command_run.h"

namespace experiments::training {
namespace {

using test::cell;
using test::in_process;
using test::Words;
using testing::HasSubstr;

RecallOptions small(const nn::Scale& scale, std::uint64_t seed = 0) {
  return {.d_k = 16,
          .scale = scale,
          .pairs = 3,
          .symbols = 4,
          .width = 32,
          .batch_size = 32,
          .learning_rate = 1e-2,
          .max_iters = 120,
          .seed = seed};
}

RecallRun trained(const RecallOptions& setting) {
  RecallRun run(setting);
  while (!run.done()) run.advance();
  return run;
}

TEST(Recall, OneLayerLearnsIt) {
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    const RecallRun run = trained(small(nn::Scale::sqrt_dk(), seed));
    EXPECT_TRUE(run.learnt()) << run.checks().back().accuracy;
    EXPECT_LT(run.checks().front().accuracy, 0.6);  // guessing among the values there are
    EXPECT_GT(run.final_accuracy(), 0.9);
  }
}

TEST(Recall, ChecksEveryFewStepsAndAtTheEnd) {
  RecallOptions setting = small(nn::Scale::none());
  setting.learning_rate = 1e-6;  // learns nothing
  setting.max_iters = 12;
  RecallRun run = trained(setting);
  std::vector<Index> steps;
  for (const RecallCheck& check : run.checks()) steps.push_back(check.step);
  EXPECT_EQ(steps, (std::vector<Index>{0, 5, 10, 12}));
  EXPECT_FALSE(run.learnt());
  run.advance();
  EXPECT_EQ(run.checks().size(), 4u);
  EXPECT_EQ(median_steps(std::vector<const RecallRun*>{&run}), HUGE_VAL);
}

/// With unit weights the logits start at a standard deviation of sqrt(d) without the scale and
/// near one with it, so that softmax starts saturated.
TEST(Recall, WithoutTheScaleItStartsSaturated) {
  const auto start = [](const nn::Scale& scale) {
    RecallOptions setting = small(scale);
    setting.d_k = 256;
    return RecallRun(setting).checks().front().head;
  };
  const HeadStats none = start(nn::Scale::none()), scaled = start(nn::Scale::sqrt_dk());
  EXPECT_NEAR(none.logit_std, 16 * scaled.logit_std, 1e-3);
  EXPECT_GT(scaled.logit_std, 0.5);
  EXPECT_LT(scaled.logit_std, 1.6);
  EXPECT_EQ(none.rows, kCheckBatch);
  EXPECT_GT(none.dead_rows, 0.2);
  EXPECT_EQ(scaled.dead_rows, 0);
  EXPECT_LT(none.gain, scaled.gain / 2);
}

TEST(Recall, TellsWhatTheRowsTell) {
  std::vector<RecallRun> runs;
  for (const std::uint64_t seed : {0, 1}) {
    for (const auto& scale : {nn::Scale::none(), nn::Scale::sqrt_dk()})
      runs.push_back(trained(small(scale, seed)));
  }
  const double none = median_steps(std::vector<const RecallRun*>{&runs[0], &runs[2]});
  const double scaled = median_steps(std::vector<const RecallRun*>{&runs[1], &runs[3]});
  EXPECT_EQ(none, std::max(runs[0].checks().back().step, runs[2].checks().back().step));
  const std::vector<std::string> words = recall_words(runs);
  ASSERT_EQ(words.size(), 3u);
  EXPECT_THAT(words[1], HasSubstr(fmt::format("none takes {:.0f} steps", none)));
  EXPECT_THAT(words[1], HasSubstr(fmt::format("sqrt_dk takes {:.0f} steps", scaled)));
  EXPECT_THAT(words[2],
              HasSubstr(fmt::format("slower than sqrt_dk at {} of 1 sizes and faster at {}.",
                                    int{none > scaled}, int{none < scaled})));
  EXPECT_EQ(recall_words(std::span(runs).first(1)).size(), 2u);  // nothing to compare
}

TEST(Recall, ARowIsARun) {
  const Words words{"--dk",     "8,16", "--scale",         "dk,none", "--seeds",     "2",
                    "--pairs",  "2",    "--symbols",       "3",       "--max-iters", "10",
                    "--n-embd", "16",   "--learning-rate", "1e-6"};
  const Report report = test::run_experiment(test::make("recall"), words, {.seed = 7});
  ASSERT_EQ(report.rows.size(), 8u);
  for (std::size_t row = 0; row < 8; ++row) {
    EXPECT_EQ(cell<std::int64_t>(report, row, "seed"), row < 4 ? 7 : 8);
    EXPECT_EQ(cell<std::int64_t>(report, row, "d_k"), row / 2 % 2 ? 16 : 8);
    EXPECT_EQ(cell<std::string>(report, row, "scale"), row % 2 ? "none" : "dk");
    EXPECT_TRUE(std::isnan(cell<double>(report, row, "steps_to_95")));
    EXPECT_LT(cell<double>(report, row, "final_accuracy"), 0.95);
  }
  EXPECT_THAT(report.notes[1], HasSubstr("dk learns in 0 of 2 runs; none learns in 0 of 2 runs"));
}

TEST(Recall, ASeedKeepsItsSign) {
  const Words words{"--dk", "4", "--scale", "dk", "--seeds", "1", "--max-iters", "1"};
  const Report report =
      test::run_experiment(test::make("recall"), words, {.seed = ~std::uint64_t{0}});
  EXPECT_EQ(cell<std::string>(report, 0, "seed"), "18446744073709551615");
}

TEST(Recall, SaysTheSameForAnyThreadCount) {
#if GRADLAB_ASAN
  GTEST_SKIP() << "takes minutes under the sanitizers";
#endif
  const Words words{"recall",    "--dk", "4,16",     "--seeds", "2",           "--pairs", "3",
                    "--symbols", "4",    "--n-embd", "32",      "--max-iters", "40"};
  test::expect_same_bytes(words);
  test::expect_narrow(in_process(words).out);
}

TEST(Recall, RefusesWhatItCannotRun) {
  EXPECT_EQ(in_process({"recall", "--pairs", "20"}).err,
            "error: --pairs: expected at most --symbols 16, as no key repeats, got 20\n");
  EXPECT_EQ(in_process({"recall", "--scale", "half"}).code, 2);
  EXPECT_EQ(in_process({"recall", "--dk", "0"}).code, 2);
}

}  // namespace
}  // namespace experiments::training
