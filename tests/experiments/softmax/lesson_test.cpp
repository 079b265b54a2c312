#include "experiments/softmax/lesson.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "autograd/machine/sanitizer.h"
#include "experiments/report/table.h"
#include "experiments/softmax/naive.h"
#include "tests/experiments/command_run.h"
#include "tests/experiments/softmax/scaling_run.h"

namespace experiments::softmax {
namespace {

using autograd::Array;
using autograd::DType;
using testing::HasSubstr;

// The verdict, the figure that theory expects, and how far 4,000 runs may be from it.
struct Expected {
  const char* verdict;
  double value, tolerance;
};
const std::map<std::string, Expected> kExpected{
    {"naive_exp", {"true", .28, .03}},
    {"score_min", {"wrong", -907, 25}},
    {"score_max", {"wrong", 900, 25}},
    {"saturation", {"true", .98, .01}},
    {"gradients", {"wrong", .98, .01}},
    {"variance", {"true", 64, 2}},
    {"unit_variance", {"partly", 64, 1}},
    {"entropy", {"wrong", .029, .005}},
    {"heads", {"true", 1, 0}},
    {"biases", {"wrong", 2'362'368, 0}},
    {"parameters", {"true", 2'359'296, 0}},
    {"share", {"true", .2275, .0005}},
    {"shape", {"true", 1, 0}},
    {"eval_twice", {"true", 0, 0}},
    {"every_position", {"true", .25, .15}},
    {"module_init", {"extra", 8.0 / 3, .15}},
};

TEST(Lesson, EveryClaimHasTheVerdictOfTheoryForThreeSeeds) {
  for (const char* seed : {"0", "1", "2"}) {
    test::Words words{"lesson", "--seed", seed, "--format", "json"};
    if (test::kSlow) words.push_back("--quick");
    const test::Outcome outcome = test::in_process(words);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    const auto rows = nlohmann::json::parse(outcome.out).at("rows");
    EXPECT_EQ(rows.size(), kExpected.size());
    for (const auto& row : rows) {
      const std::string claim = row.at("claim");
      const Expected& expected = kExpected.at(claim);
      EXPECT_EQ(row.at("verdict"), expected.verdict) << claim << ", seed " << seed;
      EXPECT_EQ(row.at("expected"), expected.verdict) << claim;
      const double wide = test::kSlow ? 4 : 1;
      EXPECT_NEAR(row.at("value").get<double>(), expected.value, wide * expected.tolerance)
          << claim << ", seed " << seed;
      EXPECT_NE(row.at("measured").get<std::string>(), "");
    }
  }
}

TEST(Lesson, TheRunsAgreeWithTheory) {
  const Findings f = findings_of({}, 2000);
  const auto near = [](double value, double expected) {
    EXPECT_NEAR(value, expected, 0.05 * std::abs(expected));
  };
  near(f.printed[0].score_std(), 512);
  near(f.printed[1].score_std(), 64);
  near(measure::mean(f.printed[1].score_min), -113);
  near(measure::mean(f.printed[0].p_max), .999);
  near(measure::mean(f.printed[1].p_max), .988);
  near(share_above(f.printed[1].p_max, .9999, kTokens).mean, .85);
  near(f.unit[0].score_std(), 8);
  near(measure::mean(f.unit[0].entropy), .220);
  near(measure::mean(f.unit[0].p_max), .910);
  near(share_above(f.unit[0].p_max, .9999, kTokens).mean, .21);
  near(measure::mean(f.unit[1].entropy), 1.115);
  near(measure::summarize(f.unit[1].entropy).median, 1.162);
  near(measure::mean(f.unit[1].p_max), .517);
  EXPECT_EQ(f.unit[0].nan_share(), 0);
  EXPECT_EQ(f.printed[1].nan_share(), 0);
  near(f.scaled.score_std, f.unscaled.score_std / 8);
  near(f.unscaled.score_std, expected_initial_std());
}

Verdict verdict_of(const Findings& findings, const std::string& id) {
  for (const Claim& claim : judged(findings)) {
    if (claim.id == id) return claim.verdict;
  }
  ADD_FAILURE() << "no claim " << id;
  return Verdict::extra;
}

// The verdicts come from the measurements: other ones, other verdicts, and the run fails.
TEST(Lesson, OtherMeasurementsGiveOtherVerdicts) {
  const Findings found = findings_of({}, 100);
  EXPECT_FALSE(report_of(found, {}).failed);
  const auto with = [&](const auto& change) {
    Findings f = found;
    change(f);
    EXPECT_TRUE(report_of(f, {}).failed);
    return f;
  };
  const auto verdict = [&](const char* id, const auto& change) {
    return verdict_of(with(change), id);
  };
  const auto fill = [](std::vector<double>& values, double v) { std::ranges::fill(values, v); };
  using F = Findings;
  EXPECT_EQ(verdict("naive_exp", [&](F& f) { fill(f.printed[0].printed_entropy, 0); }),
            Verdict::wrong);
  EXPECT_EQ(verdict("score_min", [&](F& f) { fill(f.printed[0].score_min, -150); }),
            Verdict::right);
  EXPECT_EQ(verdict("score_max", [&](F& f) { fill(f.printed[0].score_max, 200); }), Verdict::right);
  EXPECT_EQ(verdict("saturation", [&](F& f) { fill(f.printed[0].p_max, .99); }), Verdict::wrong);
  EXPECT_EQ(verdict("gradients", [&](F& f) { fill(f.printed[0].winner, .2); }), Verdict::right);
  EXPECT_EQ(verdict("variance", [&](F& f) { fill(f.unit[0].score_square, 63); }), Verdict::wrong);
  EXPECT_EQ(verdict("unit_variance", [&](F& f) { fill(f.printed[1].score_square, 1); }),
            Verdict::right);
  EXPECT_EQ(verdict("unit_variance", [&](F& f) { fill(f.unit[1].score_square, 9); }),
            Verdict::wrong);
  EXPECT_EQ(verdict("entropy", [&](F& f) { fill(f.printed[1].entropy, 1.3); }), Verdict::right);
  EXPECT_EQ(verdict("heads", [](F& f) { f.module.distinct_counts = 2; }), Verdict::wrong);
  EXPECT_EQ(verdict("parameters", [](F& f) { f.module.parameters += 1; }), Verdict::wrong);
  EXPECT_EQ(verdict("shape", [](F& f) { f.module.output = {2, 8, 767}; }), Verdict::wrong);
  EXPECT_EQ(verdict("eval_twice", [](F& f) { f.module.eval_difference = 1e-9; }), Verdict::wrong);
  EXPECT_EQ(verdict("eval_twice", [](F& f) { f.module.dropped_train_difference = 0; }),
            Verdict::wrong);
  EXPECT_EQ(verdict("every_position", [](F& f) { f.module.moved_as_printed = false; }),
            Verdict::wrong);
  EXPECT_EQ(verdict("module_init", [](F& f) { f.unscaled.saturated_rows = 1; }), Verdict::wrong);
  EXPECT_EQ(report_of(with([](F& f) { f.module.output = {2}; }), {}).failure,
            "1 of 16 verdicts contradict theory: shape");
}

TEST(Lesson, CountsTheParametersOfGpt2) {
  const Gpt2Count gpt2 = gpt2_count();
  EXPECT_EQ(gpt2.total(), kGpt2Published);
  EXPECT_EQ(gpt2.attention_weights, 28'311'552);
  EXPECT_EQ(gpt2.attention_biases, 36'864);
}

TEST(Lesson, PrintsThePageAndItsFailures) {
  const test::Outcome outcome = test::in_process({"lesson", "--quick"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  test::expect_narrow(outcome.out);
  EXPECT_LE(std::ranges::count(outcome.out, '\n'), 70);
  for (const char* text :
       {"Step 1: naked attention, T = 4, D = 8", "Step 2: the same with D = 64",
        "Step 3: ", "output shape: (2, 8, 768)", "attention params: 2,359,296",
        "y changed at pos 5? True", "true?   the lesson says", "wrong   gradients are zero"}) {
    EXPECT_THAT(outcome.out, HasSubstr(text));
  }
  EXPECT_EQ(outcome.out.find("FAILS"), std::string::npos);
  Findings broken = findings_of({}, 100);
  broken.module.eval_difference = 1;
  EXPECT_THAT(report::to_table(report_of(broken, {})), HasSubstr("assert allclose(y1, y2): FAILS"));
}

TEST(Lesson, SaysTheSameForAnyThreadCount) {
#if GRADLAB_ASAN
  GTEST_SKIP() << "takes minutes under the sanitizers";
#endif
  test::expect_same_bytes({"lesson", "--quick"});
}

TEST(Lesson, HoldsInF32) {
  const Findings f = findings_of({.dtype = DType::f32}, 100);
  EXPECT_FALSE(report_of(f, {.dtype = DType::f32}).failed);
}

TEST(Naive, DividesByTheSumOfExp) {
  const double one = std::log(3.0);
  const Array p = naive_softmax(Array::from<double>(std::vector{one, 0.0, 0.0, one}, {2, 2}));
  EXPECT_NEAR(p.at(0), .75, 1e-15);
  EXPECT_NEAR(p.at(1), .25, 1e-15);
  EXPECT_NEAR(p.at(3), .75, 1e-15);
}

TEST(Naive, OverflowsAsPrinted) {
  const Array p = naive_softmax(Array::from<double>(std::vector{710.0, 0.0}, {1, 2}));
  EXPECT_TRUE(std::isnan(p.at(0)));
  EXPECT_EQ(p.at(1), 0);
  EXPECT_TRUE(std::isnan(printed_entropy(p.read<double>())));
}

TEST(Naive, TheEntropyHasTheTermInsideTheLogarithm) {
  EXPECT_NEAR(printed_entropy(std::vector{.25, .25, .25, .25}), std::log(4.0), 1e-9);
  EXPECT_EQ(printed_entropy(std::vector{1.0, 0.0}), -std::log(1 + 1e-10));
}

}  // namespace
}  // namespace experiments::softmax
