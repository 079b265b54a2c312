#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/experiments/softmax/scaling_run.h"

// The numbers of the scaling experiment against what is known of them, for three seeds.

namespace experiments::softmax {
namespace {

using test::run_scaling;
using test::value;

#define SKIP_IF_SLOW() \
  if (test::kSlow) GTEST_SKIP() << "a build without sanitizers runs this"

struct Known {
  const char* key;
  double value;
};
struct Numbers {
  const char* seq_len;
  const char* d_k;
  std::size_t scale;  // 0 none, 1 sqrt_dk
  std::vector<Known> known;
};

// Figures of an independent simulation. Scaled within 3 percent; unscaled means, entropies and dead
// rows within 15.
TEST(ScalingNumbers, AreThoseOfTheTheory) {
  SKIP_IF_SLOW();
  const std::vector<Numbers> all{
      {"4", "64", 0, {{"ds_mean", .095}, {"dq_mean", .75}, {"dq_rms", 1.59}, {"gain_mean", .060}}},
      {"4",
       "64",
       1,
       {{"ds_mean", .353},
        {"ds_median", .318},
        {"dq_mean", .351},
        {"dq_rms", .406},
        {"dq_median", .314},
        {"gain_median", .224},
        {"gain_mean", .221}}},
      {"4", "256", 0, {{"ds_mean", .050}, {"dq_mean", .80}, {"dq_rms", 2.32}, {"gain_mean", .031}}},
      {"4",
       "256",
       1,
       {{"ds_mean", .355},
        {"dq_mean", .354},
        {"dq_rms", .408},
        {"gain_median", .225},
        {"gain_mean", .222}}},
      {"8", "64", 0, {{"ds_mean", .125}, {"dq_mean", .99}, {"dq_rms", 1.83}, {"gain_mean", .049}}},
      {"8",
       "64",
       1,
       {{"ds_mean", .335},
        {"ds_median", .313},
        {"dq_mean", .333},
        {"dq_rms", .365},
        {"gain_median", .127},
        {"gain_mean", .131}}},
      {"16",
       "64",
       0,
       {{"ds_mean", .145},
        {"dq_mean", 1.15},
        {"dq_rms", 1.97},
        {"gain_mean", .038},
        {"entropy_norm_mean", .150},
        {"jacobian_mean", .179},
        {"dead_rows", .13}}},
      {"16",
       "64",
       1,
       {{"ds_mean", .286},
        {"dq_mean", .284},
        {"dq_rms", .305},
        {"gain_median", .0717},
        {"gain_mean", .075},
        {"entropy_norm_mean", .850},
        {"jacobian_mean", .304},
        {"jacobian_median", .303},
        {"dead_rows", 0}}},
      {"16",
       "512",
       0,
       {{"ds_mean", .058},
        {"dq_mean", 1.31},
        {"dq_rms", 3.5},
        {"gain_mean", .015},
        {"entropy_norm_mean", .048},
        {"jacobian_mean", .0715},
        {"dead_rows", .53}}},
      {"16",
       "512",
       1,
       {{"ds_mean", .286},
        {"dq_mean", .286},
        {"dq_rms", .305},
        {"gain_median", .0715},
        {"gain_mean", .075},
        {"entropy_norm_mean", .850},
        {"jacobian_mean", .305},
        {"jacobian_median", .304},
        {"dead_rows", 0}}}};
  for (const std::uint64_t seed : {1, 2, 3}) {
    for (const Numbers& n : all) {
      const Report report = run_scaling({"--seq-len", n.seq_len, "--dk", n.d_k}, {.seed = seed});
      for (const Known& known : n.known) {
        EXPECT_NEAR(value(report, n.scale, known.key), known.value,
                    (n.scale == 0 ? 0.15 : 0.03) * known.value)
            << "T " << n.seq_len << ", d " << n.d_k << ", seed " << seed << ", " << known.key;
      }
    }
  }
}

TEST(ScalingNumbers, TurnAroundAtManyKeys) {
  SKIP_IF_SLOW();
  for (const std::uint64_t seed : {1, 2, 3}) {
    const Report report =
        run_scaling({"--seq-len", "1024", "--dk", "64", "--rows", "2000"}, {.seed = seed});
    EXPECT_NEAR(value(report, 0, "jacobian_mean") / value(report, 1, "jacobian_mean"), 4.9, 0.49);
    EXPECT_NEAR(value(report, 0, "jacobian_median") / value(report, 1, "jacobian_median"), 5.9,
                0.9);
    EXPECT_NEAR(value(report, 1, "jacobian_mean"), .0508, .03 * .0508);
    EXPECT_NEAR(value(report, 0, "entropy_mean"), .885, .15 * .885);
    EXPECT_NE(report.notes[report.notes.size() - 3].find("usual story turns around"),
              std::string::npos);
  }
}

TEST(ScalingNumbers, MedianOfManyRows) {
  SKIP_IF_SLOW();
  for (const std::uint64_t seed : {1, 2, 3}) {
    const Report report =
        run_scaling({"--dk", "512", "--rows", "40000", "--scale", "none"}, {.seed = seed});
    EXPECT_NEAR(value(report, 0, "jacobian_median"), 5.46e-4, .15 * 5.46e-4) << seed;
  }
}

// In theory, x and W of N(0,1) give scores of d^1.5; real layers hardly saturate.
TEST(ScalingNumbers, OfTheInitialisations) {
  SKIP_IF_SLOW();
  const Report lesson =
      run_scaling({"--init", "lesson", "--seq-len", "4", "--dk", "8,64"}, {.seed = 1});
  const std::vector<std::vector<double>> want{
      {23, 40, .106, .956}, {8.2, 14, .295, .880}, {512, 903, .0035, .999}, {64, 113, .0275, .988}};
  for (std::size_t row = 0; row < 4; ++row) {
    EXPECT_NEAR(value(lesson, row, "score_std"), want[row][0], .05 * want[row][0]);
    EXPECT_NEAR(value(lesson, row, "score_max"), want[row][1], .05 * want[row][1]);
    EXPECT_NEAR(value(lesson, row, "score_min"), -want[row][1], .05 * want[row][1]);
    EXPECT_NEAR(value(lesson, row, "entropy_mean"), want[row][2], .1 * want[row][2] + 5e-4);
    EXPECT_NEAR(value(lesson, row, "p_max_mean"), want[row][3], .01);
  }
  for (const auto& [init, std] : {std::pair{"torch", 2.667}, {"gpt2", 2.458}}) {
    const Report real = run_scaling(
        {"--init", init, "--seq-len", "8", "--dk", "64", "--rows", "1600"}, {.seed = 1});
    EXPECT_NEAR(value(real, 0, "score_std"), std, .04 * std) << init;
    EXPECT_NEAR(value(real, 1, "score_std"), std / 8, .04 * std / 8) << init;
  }
}

}  // namespace
}  // namespace experiments::softmax
