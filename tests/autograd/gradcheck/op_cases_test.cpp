// The whole battery for every line of the op table, 16 trials each.

#include "autograd/gradcheck/op_cases.h"

#include <gtest/gtest.h>

#include <ostream>
#include <set>

#include "autograd/ops.h"

namespace autograd {

void PrintTo(const GradcheckCase& c, std::ostream* out);  // for the names of failed tests
void PrintTo(const GradcheckCase& c, std::ostream* out) { *out << c.name; }

namespace {

constexpr int kTrials = 16;

class OpGradcheck : public testing::TestWithParam<GradcheckCase> {};

TEST_P(OpGradcheck, PassesTheBattery) {
  for (int trial = 0; trial < kTrials; ++trial) {
    for (const std::string& failure : battery(GetParam(), 1, trial)) ADD_FAILURE() << failure;
  }
}

INSTANTIATE_TEST_SUITE_P(Ops, OpGradcheck, testing::ValuesIn(op_cases().begin(), op_cases().end()),
                         [](const auto& test) { return test.param.name; });

TEST(OpCases, HaveDifferentNames) {
  std::set<std::string> names;
  for (const GradcheckCase& c : op_cases()) EXPECT_TRUE(names.insert(c.name).second) << c.name;
}

/// What the trials of a case are made of, so that a table of trivial trials cannot pass unnoticed.
struct Coverage {
  std::set<Index> sizes;
  std::set<int> ranks;
  Index largest = 0;
};

Coverage coverage(const GradcheckCase& c) {
  Coverage seen;
  for (int trial = 0; trial < kTrials; ++trial) {
    Draw draw(1, trial);
    for (const Tensor& x : c.make(draw).inputs) {
      seen.sizes.insert(x.shape().sizes().begin(), x.shape().sizes().end());
      seen.ranks.insert(x.rank());
      seen.largest = std::max(seen.largest, x.numel());
    }
  }
  return seen;
}

TEST(OpCases, DrawManyShapes) {
  std::set<Index> all;
  for (const GradcheckCase& c : op_cases()) {
    const Coverage seen = coverage(c);
    EXPECT_GE(seen.sizes.size(), 6u) << c.name;
    EXPECT_GT(seen.largest, 64) << c.name;
    all.insert(seen.sizes.begin(), seen.sizes.end());
  }
  for (const Index size : {0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65}) {
    EXPECT_TRUE(all.contains(size)) << size;
  }
}

TEST(OpCases, ElementwiseOnesReachAllRanksAndSeveralThreads) {
  for (const GradcheckCase& c : op_cases()) {
    if (c.name != "add" && c.name != "exp" && c.name != "sum") continue;
    const Coverage seen = coverage(c);
    EXPECT_EQ(seen.ranks, (std::set<int>{0, 1, 2, 3, 4})) << c.name;
    EXPECT_GT(seen.largest, 4096) << c.name;
  }
}

TEST(OpCases, AreChecked) {
  for (const GradcheckCase& c : op_cases()) {
    const GradcheckReport report = check_case(c, 2, 4);
    EXPECT_TRUE(report.ok) << report.message;
    EXPECT_GT(report.checked, 0) << c.name;
    EXPECT_EQ(report.wrong, 0) << c.name;
  }
}

/// f32 to f64 and back: central differences cannot see through the rounding, so by value.
TEST(OpCases, ToCarriesGradientsBetweenFloats) {
  const Tensor x = tensor({1, 2, 3}).requires_grad_();
  const Tensor w = tensor({0.5, -2, 4}, DType::f64);
  (to(x, DType::f64) * w).sum().backward();
  EXPECT_EQ(x.grad().dtype(), DType::f32);
  EXPECT_TRUE(bit_equal(x.grad().data(), w.data().to(DType::f32)));
}

}  // namespace
}  // namespace autograd
