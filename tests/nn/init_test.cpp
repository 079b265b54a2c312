#include "nn/init.h"

#include <algorithm>
#include <cmath>

#include "nn/attention.h"
#include "tests/nn/check.h"

namespace nn {
namespace {

using autograd::ValueError;

struct Moments {
  double mean, stddev, kurtosis, largest;  // kurtosis: 3 for a normal, 1.8 for a uniform
};

Moments moments(const Tensor& x) {
  Moments m{};
  const double n = static_cast<double>(x.numel());
  for (Index i = 0; i < x.numel(); ++i) m.mean += x.data().at(i) / n;
  double second = 0, fourth = 0;
  for (Index i = 0; i < x.numel(); ++i) {
    const double d = x.data().at(i) - m.mean;
    second += d * d / n;
    fourth += d * d * d * d / n;
    m.largest = std::max(m.largest, std::abs(x.data().at(i)));
  }
  m.stddev = std::sqrt(second);
  m.kurtosis = fourth / (second * second);
  return m;
}

Tensor weight(Init rule, DType dtype = DType::f64) {
  Generator generator(3);
  return Initializer{rule, dtype, generator}.weight({512, 256}, 256);  // 131,072 numbers
}

TEST(Init, EachRuleDrawsItsDistribution) {
  const struct {
    Init rule;
    double stddev, kurtosis;
  } rules[] = {{Init::lesson, 1.0, 3.0},
               {Init::torch, 1.0 / 16.0 / std::sqrt(3.0), 1.8},
               {Init::gpt2, 0.02, 3.0},
               {Init::unit, 1.0 / 16.0, 3.0}};
  for (const auto& [rule, stddev, kurtosis] : rules) {
    const Moments m = moments(weight(rule));
    EXPECT_NEAR(m.mean / stddev, 0.0, 6.0 / 362.0) << name(rule);  // six standard errors
    EXPECT_NEAR(m.stddev / stddev, 1.0, 6.0 / 512.0) << name(rule);
    EXPECT_NEAR(m.kurtosis, kurtosis, 0.1) << name(rule);
  }
  const double largest = moments(weight(Init::torch)).largest;
  EXPECT_LE(largest, 1.0 / 16.0);
  EXPECT_GT(largest, 0.999 / 16.0);
}

TEST(Init, BiasesAreZeroButUnderTorch) {
  for (const Init rule : kInits) {
    Generator generator(4);
    const Tensor bias = Initializer{rule, DType::f64, generator}.bias({1000}, 400);
    const Moments m = moments(bias);
    if (rule == Init::torch) {
      EXPECT_NEAR(m.largest, 0.05, 0.001);
    } else {
      EXPECT_EQ(m.largest, 0.0) << name(rule);
    }
  }
}

TEST(Init, SameNumbersForTheSameSeedAndForBothTypes) {
  for (const Init rule : kInits) {
    EXPECT_TRUE(same_bits(weight(rule), weight(rule))) << name(rule);
    EXPECT_TRUE(is_close(weight(rule, DType::f32), weight(rule), 1e-6)) << name(rule);
  }
}

TEST(Init, Names) {
  for (const Init rule : kInits) EXPECT_EQ(parse_init(name(rule)), rule);
  EXPECT_THAT(
      [] { parse_init("xavier"); },
      testing::ThrowsMessage<ValueError>(testing::AllOf(
          testing::HasSubstr("'xavier'"), testing::HasSubstr("lesson, torch, gpt2 or unit"))));
  Generator generator(0);
  EXPECT_THAT(([&] {
                Initializer{Init::unit, DType::f32, generator}.weight({2, 0}, 0);
              }),
              testing::ThrowsMessage<ValueError>(testing::HasSubstr("fan_in")));
}

// The spread of the scores of GPT-2 small at the start: with entries of variance v in q and k, the
// dot product of two heads of size 64 has standard deviation 8 v.
TEST(Init, SpreadOfAttentionScores) {
  const struct {
    Init rule;
    double variance;  // of an entry of q: 768 times that of a weight
  } rules[] = {{Init::torch, 1.0 / 3.0}, {Init::gpt2, 768 * 0.0004}, {Init::unit, 1.0}};
  for (const auto& [rule, variance] : rules) {
    for (const Scale& scale : {Scale::none(), Scale::sqrt_dk()}) {
      Generator generator(5);
      MultiHeadAttention module({.scale = scale, .init = rule}, generator);
      const Tensor x = autograd::randn({8, 8, 768}, DType::f32, generator);
      const AttentionTrace trace;
      module(x);
      const double expected = 8 * variance * scale.factor(64);
      EXPECT_NEAR(moments(trace[0].scores).stddev / expected, 1.0, 0.06)
          << name(rule) << " " << scale.name();
    }
  }
}

}  // namespace
}  // namespace nn
