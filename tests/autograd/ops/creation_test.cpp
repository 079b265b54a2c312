// Ranges, the identity, and tensors like others.

#include <gmock/gmock.h>

#include <limits>

#include "tests/support/tensors.h"

namespace {

using namespace autograd;
using test::f64;
using test::message_of;
using test::near;
using testing::HasSubstr;

Tensor i64(std::initializer_list<double> values) { return tensor(values, DType::i64); }

TEST(Arange, IsOfIntegersWhereAllThreeAre) {
  EXPECT_TRUE(bit_equal(arange(1, 4).data(), i64({1, 2, 3}).data()));
  EXPECT_TRUE(bit_equal(arange(0, 5, 2).data(), i64({0, 2, 4}).data()));
  EXPECT_TRUE(bit_equal(arange(Index{5}, 0, -2).data(), i64({5, 3, 1}).data()));
  EXPECT_TRUE(bit_equal(arange(1, 2.5, 0.5).data(), tensor({1, 1.5, 2}).data()));
  EXPECT_TRUE(bit_equal(arange(1.0, 3.0).data(), tensor({1, 2}).data()));
  EXPECT_TRUE(bit_equal(arange(0, 3, 1, DType::f64).data(), f64({0, 1, 2}).data()));
  EXPECT_TRUE(bit_equal(arange(3, DType::f64).data(), f64({0, 1, 2}).data()));
  EXPECT_EQ(arange(3, 3).shape(), Shape({0}));
  EXPECT_EQ(arange(0.0, 0.0).shape(), Shape({0}));
  EXPECT_EQ(arange(0, 1, 0.1).shape(), Shape({10}));
  EXPECT_TRUE(bit_equal(arange(0.0, 5.0, 2.0).data(), tensor({0, 2, 4}).data()));
  EXPECT_TRUE(bit_equal(arange(1, 0, -0.75).data(), tensor({1, 0.25}).data()));
}

TEST(Arange, IsExactAtTheEdgesOfItsType) {
  constexpr Index most = std::numeric_limits<Index>::max(), least = -most - 1;
  const Tensor top = arange(most - 2, most), steps = arange(least, most, most);
  EXPECT_EQ(top.data().read<std::int64_t>()[1], most - 1);
  ASSERT_EQ(steps.shape(), Shape({3}));
  EXPECT_EQ(steps.data().read<std::int64_t>()[1], -1);
  EXPECT_EQ(arange(most, least, least).shape(), Shape({2}));
  EXPECT_THAT(message_of<ValueError>([] { (void)arange(least, most); }), HasSubstr("arange: "));
}

TEST(Arange, NamesStepsThatNeverArrive) {
  const auto says = [](auto call, const char* text) {
    EXPECT_THAT(message_of<ValueError>(call), HasSubstr(text));
  };
  says([] { (void)arange(0, 5, 0); }, "arange: expected steps from start to end, got 0, 5 and");
  says([] { (void)arange(0, 5, -1); }, "a step of -1");
  says([] { (void)arange(5, 0); }, "got 5, 0 and a step of 1");
  says([] { (void)arange(0.0, 0.3, -1.0); }, "got 0, 0.3 and a step of -1");
  says([] { (void)arange(0.0, 1.0, 0.0); }, "a step of 0");
  says([] { (void)arange(0.0, std::numeric_limits<double>::infinity()); }, "got 0, inf");
  says([] { (void)arange(0.0, std::nan("")); }, "got 0, nan");
  says([] { (void)arange(0.0, 1.0, std::numeric_limits<double>::infinity()); }, "step of inf");
}

TEST(Linspace, HasBothEnds) {
  EXPECT_TRUE(near(linspace(3, 10, 5, DType::f64), f64({3, 4.75, 6.5, 8.25, 10}), 0));
  EXPECT_TRUE(bit_equal(linspace(-10, 10, 5).data(), tensor({-10, -5, 0, 5, 10}).data()));
  EXPECT_TRUE(near(linspace(-10, 10, 1), tensor({-10}), 0));
  EXPECT_TRUE(near(linspace(2, -2, 3), tensor({2, 0, -2}), 0));
  EXPECT_EQ(linspace(0, 1, 0).shape(), Shape({0}));
  EXPECT_TRUE(bit_equal(linspace(0, 10, 4, DType::i64).data(), i64({0, 3, 6, 10}).data()));
  for (const Index steps : {2, 7, 50, 99}) {
    const Tensor x = linspace(-0.7, 0.1, steps, DType::f64);
    EXPECT_EQ(x.at({0}), -0.7);
    EXPECT_EQ(x.at({-1}), 0.1);
    const double way = static_cast<double>(steps / 2) / static_cast<double>(steps - 1);
    EXPECT_NEAR(x.at({steps / 2}), -0.7 + 0.8 * way, 1e-15);
  }
  EXPECT_THAT(message_of<ValueError>([] { (void)linspace(0, 1, -1); }), HasSubstr("got -1"));
}

TEST(Eye, HasOnesOnTheDiagonal) {
  EXPECT_TRUE(bit_equal(eye(2).data(), tensor({1, 0, 0, 1}, {2, 2}).data()));
  EXPECT_TRUE(near(eye(2, 3), tensor({1, 0, 0, 0, 1, 0}, {2, 3}), 0));
  EXPECT_TRUE(near(eye(3, 2, DType::f64), f64({1, 0, 0, 1, 0, 0}, {3, 2}), 0));
  EXPECT_EQ(eye(2, DType::b8).dtype(), DType::b8);
  EXPECT_EQ(eye(0, 3).shape(), Shape({0, 3}));
  EXPECT_THAT(message_of<ValueError>([] { (void)eye(-1); }), HasSubstr("eye: expected sizes"));
}

TEST(Like, HasTheShapeAndDTypeOfTheOther) {
  const Tensor x = f64({1, 2}, {1, 2}).requires_grad_();
  EXPECT_TRUE(bit_equal(zeros_like(x).data(), f64({0, 0}, {1, 2}).data()));
  EXPECT_TRUE(bit_equal(ones_like(x).data(), f64({1, 1}, {1, 2}).data()));
  EXPECT_FALSE(ones_like(x).requires_grad());
  EXPECT_EQ(ones_like(arange(3)).dtype(), DType::i64);
  EXPECT_EQ(ones_like(zeros({})).shape(), Shape{});
}

}  // namespace
