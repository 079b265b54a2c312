#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "autograd/machine/parallel.h"
#include "tests/experiments/softmax/scaling_run.h"

namespace experiments::softmax {
namespace {

using test::kSlow;
using test::parsed_scaling;
using test::run_scaling;
using Words = std::vector<std::string>;

std::string error_of(const Words& words) {
  try {
    run_scaling(words);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(Scaling, HasTheColumnsInOrder) {
  const Report report = run_scaling({"--dk", "4", "--rows", "16"});
  Words keys;
  for (const Column& column : report.columns) keys.push_back(column.key);
  Words want{"d_k",
             "seq_len",
             "scale",
             "init",
             "rows",
             "score_std",
             "score_min",
             "score_max",
             "entropy_norm_mean",
             "entropy_mean",
             "p_max_mean",
             "jacobian_mean",
             "jacobian_median",
             "jacobian_trace_mean",
             "dead_rows",
             "gain_mean",
             "gain_median"};
  for (const std::string of : {"ds", "dq", "dk", "dv"}) {
    for (const char* what : {"_mean", "_median", "_p95", "_rms"}) want.push_back(of + what);
  }
  EXPECT_EQ(keys, want);
}

TEST(Scaling, HasARowASizeAndScale) {
  const Report report =
      run_scaling({"--dk", "8,4", "--rows", "33", "--seq-len", "20", "--scale", "dk,sqrt"});
  ASSERT_EQ(report.rows.size(), 4u);
  EXPECT_EQ(std::get<std::int64_t>(report.rows[0][0]), 4);
  EXPECT_EQ(std::get<std::int64_t>(report.rows[0][1]), 20);
  EXPECT_EQ(std::get<std::string>(report.rows[0][2]), "dk");
  EXPECT_EQ(std::get<std::string>(report.rows[1][2]), "sqrt_dk");
  EXPECT_EQ(std::get<std::string>(report.rows[3][3]), "unit");
  EXPECT_EQ(std::get<std::int64_t>(report.rows[3][4]), 48);  // three trials of 16 queries
}

TEST(Scaling, RefusesWhatMakesNoSense) {
  EXPECT_EQ(error_of({"--scale", "none,x"}),
            "--scale: expected none, sqrt_dk, dk or a finite number, got 'x'");
  EXPECT_EQ(error_of({"--scale", "none,"}),
            "--scale: expected none, sqrt_dk, dk or a finite number, got ''");
  EXPECT_EQ(error_of({"--scale", "sqrt,sqrt_dk"}),
            "--scale: expected each scale once, not sqrt_dk twice, got 'sqrt,sqrt_dk'");
  for (const char* scale : {"1e+308", "1.1e+30", "-2e+30", "1e-320", "-9e-31"})
    EXPECT_EQ(
        error_of({"--scale", scale}),
        fmt::format("--scale: expected 0 or a number of size 1e-30 to 1e+30, got '{}'", scale));
  EXPECT_NE(error_of({"--seq-len", "1"}), "");  // one key: no gradient, and H / ln T is 0 / 0
  EXPECT_NE(error_of({"--dk", "0"}), "");
  EXPECT_NE(error_of({"--rows", "0"}), "");
  EXPECT_NE(error_of({"--init", "kaiming"}), "");
}

TEST(Scaling, KnowsItsMemory) {
  EXPECT_LT(parsed_scaling({})->bytes_needed({}), 100e6);
  EXPECT_GT(parsed_scaling({"--dk", "65536", "--seq-len", "65536"})->bytes_needed({}), 1e11);
  EXPECT_GT(parsed_scaling({"--rows", "1000000000"})->bytes_needed({}), 1e11);
}

TEST(Scaling, SaysTheSameForAnyThreadCount) {
  const auto all = [](const Report& report) {
    std::vector<std::string> text = report.notes;
    for (const Check& check : report.checks) {
      text.push_back(
          fmt::format("{} {} {} {}", check.name, check.measured, check.predicted, check.tolerance));
    }
    for (const auto& row : report.rows) {
      for (const Value& cell : row) {
        if (const auto* x = std::get_if<double>(&cell)) text.push_back(fmt::format("{}", *x));
      }
    }
    return text;
  };
  std::vector<std::vector<std::string>> outputs;
  for (const int threads : {1, 2, 3, 4}) {
    autograd::set_num_threads(threads);
    outputs.push_back(
        all(run_scaling({"--dk", "4,64", "--rows", "400"}, {.seed = 5, .threads = threads})));
  }
  for (const auto& output : outputs) EXPECT_EQ(output, outputs[0]);
  EXPECT_NE(all(run_scaling({"--dk", "4,64", "--rows", "400"}, {.seed = 6})), outputs[0]);
}

/// Where nearly every row is saturated the means rest on a few, and nothing may fail by that.
TEST(Scaling, WorksWithScalesThatSaturate) {
  const auto names = [](const char* scale) {
    std::string all;
    for (const Check& check : run_scaling({"--scale", scale, "--dk", "32,128"}).checks) {
      EXPECT_TRUE(check.ok) << scale << ' ' << check.name;
      all += check.name + '\n';
    }
    return all;
  };
  EXPECT_NE(names("10").find("E[tr J] = "), std::string::npos) << "enough rows to hold it to";
  for (const char* scale : {"1000", "10000", "1000000"})
    EXPECT_EQ(names(scale).find("E[tr J] = "), std::string::npos) << scale;
}

TEST(Scaling, WorksAtTheEdgesOfTheScalesItTakes) {
  const auto speaks_of_no_checks = [](const std::string& note) {
    return note.find("has no exact checks") != std::string::npos;
  };
  for (const autograd::DType dtype : {autograd::DType::f32, autograd::DType::f64})
    for (const std::string init : {"unit", "lesson", "torch"}) {
      const Report report = run_scaling(
          {"--scale", "0,1e-30,-1e-30,1e30,-1e30", "--dk", "4,64", "--rows", "640", "--init", init},
          {.dtype = dtype});
      EXPECT_EQ(report.rows.size(), 10u);
      EXPECT_EQ(std::ranges::count_if(report.notes, speaks_of_no_checks), init == "unit" ? 1 : 0);
      for (const Check& check : report.checks)
        EXPECT_TRUE(check.ok) << init << ' ' << check.name << ": " << check.measured << " against "
                              << check.predicted;
    }
}

TEST(Scaling, QuickMeansATenthOfTheRows) {
  const Report report = run_scaling({"--dk", "4"}, {.quick = true});
  EXPECT_EQ(std::get<std::int64_t>(report.rows[0][4]), 400);
}

TEST(Scaling, ShowsProgressThatRises) {
  std::vector<double> shares;
  experiments::Run with;
  with.progress = [&](double share) { shares.push_back(share); };
  run_scaling({"--dk", "4,64", "--rows", "4000"}, with);
  EXPECT_GT(shares.size(), 2u);
  EXPECT_TRUE(std::ranges::is_sorted(shares));
  EXPECT_GE(shares.front(), 0);
  EXPECT_LE(shares.back(), 1);
}

// Standard errors of few trials, heavy tails, one dimension: nothing may fail by chance.
TEST(Scaling, ChecksHoldForAnySeed) {
  const int seeds = kSlow ? 2 : 8;
  for (int seed = 0; seed < seeds; ++seed) {
    for (const Words& words : {Words{"--dk", "4,64,256", "--rows", "400"},
                               Words{"--dk", "1,2,3", "--rows", "256", "--seq-len", "2"},
                               Words{"--dk", "4,16", "--rows", "400", "--init", "lesson"}}) {
      for (const Check& check :
           run_scaling(words, {.seed = static_cast<std::uint64_t>(seed)}).checks) {
        EXPECT_TRUE(check.ok) << "seed " << seed << ": " << check.name;
      }
    }
  }
}

}  // namespace
}  // namespace experiments::softmax
