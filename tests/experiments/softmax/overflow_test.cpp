#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "autograd/array/softmax.h"
#include "experiments/softmax/overflow_rows.h"
#include "tests/experiments/command_run.h"

namespace experiments::softmax {
namespace {

using autograd::DType;
using test::cell;

// Each is the last of its kind: its neighbour is not.
template <class T>
void expect_edges(DType dtype) {
  const Breaks b = find_breaks(16, dtype);
  const auto next = [](double s) { return std::nextafter(static_cast<T>(s), T(1e4)); };
  EXPECT_TRUE(std::isfinite(std::exp(static_cast<T>(b.nan_above))));
  EXPECT_TRUE(std::isinf(std::exp(next(b.nan_above))));
  EXPECT_GE(std::exp(static_cast<T>(-b.subnormal)), std::numeric_limits<T>::min());
  EXPECT_LT(std::exp(-next(b.subnormal)), std::numeric_limits<T>::min());
  EXPECT_GT(std::exp(static_cast<T>(-b.nan_below)), T(0));
  EXPECT_EQ(std::exp(-next(b.nan_below)), T(0));
  const auto naive = [&](double top) {
    return std::string(weights_of(row_of_scores(top, 16, dtype), Method::naive).outcome);
  };
  EXPECT_EQ(naive(b.sum), "ok");
  EXPECT_EQ(naive(next(b.sum)), "zeros");
  EXPECT_EQ(naive(next(b.nan_above)), "nan");
  EXPECT_EQ(naive(-next(b.nan_below)), "nan");
}

TEST(Overflow, TheBreaksAreTheLastOfTheirKind) {
  expect_edges<float>(DType::f32);
  expect_edges<double>(DType::f64);
}

TEST(Overflow, TheBreaksAreWhereTheyAreKnownToBe) {
  for (const auto& b : {find_breaks(16, DType::f32), expected_breaks(16, DType::f32)}) {
    EXPECT_NEAR(b.nan_above, 88.72284, 1e-4);
    EXPECT_NEAR(b.nan_below, 103.97208, 1e-4);
    EXPECT_NEAR(b.subnormal, 87.33655, 1e-4);
  }
  for (const auto& b : {find_breaks(16, DType::f64), expected_breaks(16, DType::f64)}) {
    EXPECT_NEAR(b.nan_above, 709.782712893384, 1e-11);
    EXPECT_NEAR(b.nan_below, 745.133219101941, 1e-11);
    EXPECT_NEAR(b.subnormal, 708.396418532264, 1e-11);
  }
  EXPECT_NEAR(expected_breaks(2, DType::f64).sum, 709.782712893384 - std::log(1 + std::exp(-1.0)),
              1e-11);
}

TEST(Overflow, ErrorsAreRelativeToLongDouble) {
  const autograd::Array row = row_of_scores(88, 16, DType::f64);
  EXPECT_EQ(row.at(0), 88);
  EXPECT_EQ(row.at(15), 87);
  EXPECT_LT(weights_of(row, Method::naive).error, 1e-15);
  const Weights zeros = weights_of(row_of_scores(88, 16, DType::f32), Method::naive);
  EXPECT_STREQ(zeros.outcome, "zeros");
  EXPECT_EQ(zeros.error, 1);
  EXPECT_TRUE(std::isnan(weights_of(row_of_scores(90, 16, DType::f32), Method::naive).error));
  const Weights digits = weights_of(row_of_scores(-100, 16, DType::f32), Method::naive);
  EXPECT_STREQ(digits.outcome, "inaccurate");
  EXPECT_GT(digits.error, 1e-3);
}

TEST(Overflow, HasARowAScoreAndChecksThatHold) {
  for (const test::Words& words : {test::Words{}, {"--seq-len", "2"}, {"--seq-len", "3000"}}) {
    const Report report = test::run_experiment(test::make("overflow"), words);
    EXPECT_EQ(report.checks.size(), 10u);
    for (const Check& check : report.checks) EXPECT_TRUE(check.ok) << check.name;
  }
  const Report report = test::run_experiment(test::make("overflow"), {"--scores", "710,1"});
  ASSERT_EQ(report.rows.size(), 2u);
  EXPECT_EQ(cell<std::int64_t>(report, 1, "score"), 710);
  EXPECT_EQ(cell<std::string>(report, 0, "f32_naive_above_outcome"), "ok");
  for (const char* key :
       {"f32_naive_above_outcome", "f32_naive_below_outcome", "f64_naive_above_outcome"}) {
    EXPECT_EQ(cell<std::string>(report, 1, key), "nan");
  }
  EXPECT_EQ(cell<std::string>(report, 1, "f64_naive_below_outcome"), "ok");
  EXPECT_LT(cell<double>(report, 1, "f32_shifted"), 1e-6);
  EXPECT_LT(cell<double>(report, 1, "f64_shifted"), 1e-15);
}

TEST(Overflow, PrintsTheSameWithinAHundredColumns) {
  test::expect_same_bytes({"overflow"}, /*random=*/false);
  const test::Outcome outcome = test::in_process({"overflow"});
  test::expect_narrow(outcome.out);
  EXPECT_THAT(outcome.out, testing::HasSubstr("f32: sum finite 86.40"));
  EXPECT_THAT(outcome.out, testing::HasSubstr("D = 20 on and 709.8 from D = 78 on"));
}

}  // namespace
}  // namespace experiments::softmax
