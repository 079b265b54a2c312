#include "nn/dropout.h"

#include <cmath>
#include <vector>

#include "tests/nn/check.h"

namespace nn {
namespace {

using autograd::ValueError;

struct Pass {
  Tensor y, dx;
};

Pass pass(Dropout& dropout, const Tensor& values, const Tensor& upstream) {
  Tensor x = values.clone().detach();
  x.requires_grad_();
  const Tensor y = dropout(x);
  y.backward(upstream);
  return {y, x.grad()};
}

Index zeros_in(const Tensor& x) {
  Index count = 0;
  for (Index i = 0; i < x.numel(); ++i) count += x.data().at(i) == 0.0;
  return count;
}

TEST(Dropout, OfOneGivesZerosAndNoNaN) {
  Dropout dropout(1.0);
  const Pass p = pass(dropout, autograd::tensor({1, 2, 3}), autograd::ones({3}));
  EXPECT_TRUE(same_bits(p.y, autograd::zeros({3})));
  EXPECT_TRUE(same_bits(p.dx, autograd::zeros({3})));
}

TEST(Dropout, OfZeroIsTheIdentityAndDrawsNothing) {
  Dropout dropout(0.0);
  const Generator::State before = dropout.generator().state();
  const Pass p = pass(dropout, autograd::tensor({1, -0.0, 3}), autograd::tensor({4, 5, 6}));
  EXPECT_TRUE(same_bits(p.y, autograd::tensor({1, -0.0, 3})));
  EXPECT_TRUE(same_bits(p.dx, autograd::tensor({4, 5, 6})));
  EXPECT_EQ(dropout.generator().state(), before);
}

TEST(Dropout, GradientHasTheMaskOfForwardEvenWhereXIsZero) {
  Generator generator(1);
  Dropout dropout(0.5, generator);
  const Generator::State state = dropout.generator().state();
  const Pass zero = pass(dropout, autograd::zeros({1000}), autograd::ones({1000}));
  dropout.generator().set_state(state);
  const Pass one = pass(dropout, autograd::ones({1000}), autograd::ones({1000}));
  EXPECT_TRUE(same_bits(zero.dx, one.y));
  EXPECT_TRUE(same_bits(zero.y, autograd::zeros({1000})));
  EXPECT_NEAR(static_cast<double>(zeros_in(zero.dx)), 500, 95);  // six sigma
  for (Index i = 0; i < 1000; ++i) EXPECT_TRUE(zero.dx.at({i}) == 0.0 || zero.dx.at({i}) == 2.0);
}

TEST(Dropout, InEvaluationIsXItself) {
  Dropout dropout(0.5);
  dropout.eval();
  const Generator::State before = dropout.generator().state();
  const Tensor x = autograd::randn({100});
  EXPECT_TRUE(same_bits(dropout(x), x));
  EXPECT_TRUE(dropout(x).data().shares_memory_with(x.data()));
  const Pass p = pass(dropout, autograd::tensor({7, 8, 9}), autograd::tensor({1, 2, 3}));
  EXPECT_TRUE(same_bits(p.dx, autograd::tensor({1, 2, 3})));
  EXPECT_EQ(dropout.generator().state(), before);
}

TEST(Dropout, KeepsTheMean) {
  Generator generator(2);
  Dropout dropout(0.1, generator);
  const Pass p = pass(dropout, autograd::ones({1'000'000}), autograd::ones({1'000'000}));
  EXPECT_TRUE(same_bits(p.y, p.dx));
  EXPECT_NEAR(static_cast<double>(zeros_in(p.y)), 100'000, 1'800);
  EXPECT_NEAR(p.y.mean().item(), 1.0, 0.002);
  EXPECT_EQ(p.y.max().item(), static_cast<double>(1.0f / 0.9f));
}

TEST(Dropout, DrawsANewMaskAtEachCallAndRepeatsItFromARestoredState) {
  Generator generator(3);
  Dropout dropout(0.5, generator);
  const Tensor x = autograd::ones({64});
  const Generator::State state = dropout.generator().state();
  const Tensor first = dropout(x), second = dropout(x);
  EXPECT_FALSE(same_bits(first, second));
  dropout.generator().set_state(state);
  EXPECT_TRUE(same_bits(dropout(x), first));
  EXPECT_TRUE(same_bits(dropout(x), second));
}

TEST(Dropout, LayersHaveStreamsOfTheirOwnFixedByTheSeed) {
  const Tensor x = autograd::ones({256});
  const auto masks = [&x](std::uint64_t seed) {
    Generator generator(seed);
    Dropout a(0.5, generator), b(0.5, generator);
    return std::vector<Tensor>{a(x), b(x)};
  };
  const auto one = masks(11), again = masks(11), other = masks(12);
  EXPECT_TRUE(same_bits(one[0], again[0]));
  EXPECT_TRUE(same_bits(one[1], again[1]));
  EXPECT_FALSE(same_bits(one[0], one[1]));
  EXPECT_FALSE(same_bits(one[0], other[0]));
}

TEST(Dropout, RefusesWhatIsNoProbability) {
  for (const double p : {-0.01, 1.01, std::nan(""), HUGE_VAL}) {
    EXPECT_THAT([p] { Dropout dropout(p); },
                testing::ThrowsMessage<ValueError>(testing::AllOf(
                    testing::HasSubstr("[0, 1]"), testing::HasSubstr(fmt::format("{}", p)))));
  }
  EXPECT_EQ(Dropout(0.25).p(), 0.25);
}

TEST(Dropout, PrintsItsProbabilityAndHasNoParameters) {
  const Dropout dropout(0.1);
  EXPECT_EQ(to_string(dropout), "Dropout(p 0.1)  0 parameters");
}

}  // namespace
}  // namespace nn
