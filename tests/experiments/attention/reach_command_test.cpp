#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "experiments/attention/draws.h"
#include "experiments/attention/reach_moves.h"
#include "tests/experiments/run.h"

namespace experiments::attention {
namespace {

using nlohmann::json;
using test::in_process;
using test::Outcome;
using test::Words;
using testing::HasSubstr;

Outcome reach(Words words) {
  words.insert(words.begin(), "reach");
  return in_process(words);
}

json rows_of(Words words) {
  words.insert(words.end(), {"--format", "json"});
  return json::parse(reach(words).out)["rows"];
}

TEST(ReachCommand, EveryOutputMovesAndTheGradientSaysHowFar) {
  const json rows = rows_of({"--seq-len", "6", "--position", "4", "--delta", "1e-6"});
  ASSERT_EQ(rows.size(), 6u);
  for (const json& row : rows) {
    const double moved = row["moved"], gradient = row["slope_gradient"];
    EXPECT_GT(moved, 0);
    EXPECT_NEAR(moved / 1e-6, gradient, 1e-4 * gradient) << row;
    EXPECT_GT(row["relative"], 0);
    EXPECT_LE(row["weight"], 1);
  }
}

/// One position alone attends to itself with weight 1: y is linear in x.
TEST(ReachCommand, OfOnePositionIsLinear) {
  const json rows = rows_of({"--seq-len", "1", "--delta", "3"});
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0]["weight"], 1);
  const double moved = rows[0]["moved"], slope = rows[0]["slope_gradient"];
  EXPECT_NEAR(moved, 3 * slope, 1e-12 * moved);
}

TEST(ReachCommand, ABrokenGradientIsSeen) {
  const experiments::Run run;
  const nn::MultiHeadAttentionOptions config{.n_embd = 8, .n_head = 2, .dtype = run.dtype};
  nn::Generator generator(0);
  nn::MultiHeadAttention layer(config, generator);
  const autograd::Tensor x = normals({4, 8}, run, key_of(0, Draw::input));
  const Moves at = moves_of(layer, x, {1, 1.0}, 2, run);
  const Moves elsewhere = moves_of(layer, x, {2, 1.0}, 2, run);
  EXPECT_LT(at.slope_error, 1e-7);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_NEAR(at.probed[i], at.probed_gradient[i], 4 * at.slope_error);
    EXPECT_GT(std::abs(at.probed[i] - elsewhere.probed_gradient[i]), 1e-3);
  }
}

TEST(ReachCommand, ASaturatedSoftmaxIsAFindingNotAFailure) {
  for (const Words& words : {Words{"--init", "lesson"}, Words{"--scale", "100"},
                             Words{"--init", "lesson", "--scale", "none", "--n-head", "1"}}) {
    for (const char* seed : {"0", "1", "2", "3"}) {
      Words all = words;
      all.insert(all.end(), {"--seed", seed});
      const Outcome outcome = reach(all);
      EXPECT_EQ(outcome.code, 0) << outcome.err;
    }
  }
  const Outcome outcome =
      reach({"--init", "lesson", "--scale", "none", "--n-embd", "256", "--n-head", "1"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("saturated"));
}

TEST(ReachCommand, DrawsABarAnOutput) {
  const Outcome outcome = reach({"--position", "5", "--quick"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("\n>y5    "));
  EXPECT_THAT(outcome.out, HasSubstr("\n y0    "));
  EXPECT_THAT(outcome.out, HasSubstr("All 8 outputs moved"));
}

TEST(ReachCommand, RefusesWhatCannotMove) {
  const struct {
    Words words;
    const char* error;
  } cases[] = {
      {{"--position", "8"}, "error: --position: expected less than --seq-len 8, got 8\n"},
      {{"--delta", "0"}, "error: --delta: expected a number in [1e-06, 1000000], got '0'\n"},
      {{"--delta", "1e-4", "--dtype", "f32"},
       "error: --delta: expected at least 0.001 with --dtype f32, got 0.0001\n"},
      {{"--n-head", "3"}, "error: --n-head 3 does not divide --n-embd 64\n"},
  };
  for (const auto& c : cases) {
    const Outcome outcome = reach(c.words);
    EXPECT_EQ(outcome.code, 2);
    EXPECT_EQ(outcome.err, c.error);
  }
}

TEST(ReachCommand, TheSameSeedGivesTheSameBytes) {
  for (const char* dtype : {"f32", "f64"}) {
    const Words words = {"--dtype", dtype, "--seed", "3"};
    const auto out = [&](const char* threads) {
      Words all = words;
      all.insert(all.end(), {"--threads", threads});
      const Outcome outcome = reach(all);
      EXPECT_EQ(outcome.code, 0) << outcome.err;
      return outcome.out;
    };
    EXPECT_EQ(out("1"), out("2"));
    EXPECT_EQ(out("1"), out("4"));
  }
}

}  // namespace
}  // namespace experiments::attention
