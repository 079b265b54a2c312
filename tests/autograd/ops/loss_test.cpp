#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "autograd/array/elementwise.h"
#include "autograd/gradcheck/gradcheck.h"
#include "autograd/ops.h"
#include "tests/support/tensors.h"

namespace autograd {
namespace {

using test::leaf;
using test::near;
using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr double kInf = std::numeric_limits<double>::infinity();

Tensor labels(std::initializer_list<double> values) { return tensor(values, DType::i64); }

// --- layer_norm

TEST(LayerNorm, KeepsALargeMeanApart) {
  const Tensor y = layer_norm(tensor({40000, 40001, 40002, 40003}), Tensor(), Tensor());
  const Tensor want = layer_norm(tensor({0, 1, 2, 3}), Tensor(), Tensor());
  EXPECT_TRUE(bit_equal(y.data(), want.data()));
  EXPECT_NEAR(y.at({3}), 1.34163542, 1e-6);
}

TEST(LayerNorm, GradientsOfManyRowsAreThoseOfPlainLoops) {
  constexpr Index kRows = 130, kWidth = 37;  // several blocks of rows, and no whole vectors
  Generator draws(3);
  const Tensor x = randn({kRows, kWidth}, DType::f64, draws).requires_grad_();
  const Tensor weight = randn({kWidth}, DType::f64, draws).requires_grad_();
  const Tensor g = randn({kRows, kWidth}, DType::f64, draws);
  const std::vector<Tensor> got = grad(layer_norm(x, weight, Tensor()), {x, weight}, g);
  std::vector<double> of_weight(kWidth);
  for (Index r = 0; r < kRows; ++r) {
    double mean = 0, variance = 0, h_mean = 0, hx_mean = 0;
    for (Index j = 0; j < kWidth; ++j) mean += x.at({r, j}) / kWidth;
    for (Index j = 0; j < kWidth; ++j) variance += std::pow(x.at({r, j}) - mean, 2) / kWidth;
    const double rstd = 1 / std::sqrt(variance + 1e-5);
    const auto xhat = [&](Index j) { return (x.at({r, j}) - mean) * rstd; };
    const auto h = [&](Index j) { return g.at({r, j}) * weight.at({j}); };
    for (Index j = 0; j < kWidth; ++j) {
      h_mean += h(j) / kWidth;
      hx_mean += h(j) * xhat(j) / kWidth;
      of_weight[static_cast<std::size_t>(j)] += g.at({r, j}) * xhat(j);
    }
    for (Index j = 0; j < kWidth; ++j) {
      EXPECT_NEAR(got[0].at({r, j}), rstd * (h(j) - h_mean - xhat(j) * hx_mean), 1e-12);
    }
  }
  for (Index j = 0; j < kWidth; ++j) {
    EXPECT_NEAR(got[1].at({j}), of_weight[static_cast<std::size_t>(j)], 1e-11);
  }
}

TEST(LayerNorm, OfAConstantRowIsZero) {
  for (const double value : {1234.0, 1234.1, 0.1, -3e38, 1e-30}) {
    Tensor x = full({3, 256}, value).requires_grad_();
    const Tensor y = layer_norm(x, ones({256}), zeros({256}));
    EXPECT_TRUE(bit_equal(y.data(), zeros({3, 256}).data())) << value;
    y.backward(ones({3, 256}));
    EXPECT_TRUE(all_finite(x.grad().data())) << value;
  }
}

TEST(LayerNorm, HasAFiniteGradientAtARowOfZeros) {
  Tensor x = leaf({0, 0, 0, 0}, {4});
  layer_norm(x, ones({4}, DType::f64), Tensor()).backward(tensor({1, 0, 0, 0}, DType::f64));
  EXPECT_TRUE(near(x.grad(),
                   tensor({237.1708245, -79.0569415, -79.0569415, -79.0569415}, DType::f64), 1e-7));
}

TEST(LayerNorm, HasTheGradientsOfTheFormula) {
  Tensor x = leaf({1, 2, 3, 4}, {4}), weight = leaf({1, 1, 1, 1}, {4});
  Tensor bias = leaf({0, 0, 0, 0}, {4});
  layer_norm(x, weight, bias).backward(tensor({1, 0, 0, 0}, DType::f64));
  EXPECT_TRUE(near(x.grad(),
                   tensor({0.2683303039, -0.357768372, -0.08944343463, 0.1788815028}, DType::f64),
                   1e-9));
  EXPECT_TRUE(near(weight.grad(), tensor({-1.34163542, 0, 0, 0}, DType::f64), 1e-8));
  EXPECT_TRUE(near(bias.grad(), tensor({1, 0, 0, 0}, DType::f64), 0));
}

/// The squares of these numbers are infinite; the numbers themselves, and the row of xhat, are not.
TEST(LayerNorm, TakesNumbersWhoseSquaresAreNot) {
  for (const double size : {1e100, 1e153, 1e154, 1e160, 1e200, 1e300, 4e307}) {
    Tensor x = leaf({1 * size, 2 * size, 3 * size, 4 * size}, {4}), weight = leaf({1, 1, 1, 1});
    const Tensor y = layer_norm(x, weight, Tensor());
    const double far = 3 / std::sqrt(5.0), close = 1 / std::sqrt(5.0);  // 1.3416, 0.4472
    EXPECT_TRUE(near(y, test::f64({-far, -close, close, far}), 1e-14)) << size;
    y.backward(test::f64({1, 0, 0, 0}));
    EXPECT_TRUE(near(weight.grad(), test::f64({-far, 0, 0, 0}), 1e-14)) << size;
    // dx of [1, 2, 3, 4] over the size: rstd (h - mean(h) - xhat mean(h xhat))
    const double rstd = 2 / std::sqrt(5.0);
    const Tensor dx = test::f64({rstd * 0.3, rstd * -0.4, rstd * -0.1, rstd * 0.2});
    EXPECT_TRUE(near(Tensor(x.grad().data() * size), dx, 1e-13)) << size;
  }
  const double most = std::numeric_limits<double>::max();
  const Tensor y = layer_norm(test::f64({most, -most, -most, -most}), Tensor(), Tensor());
  const double root3 = std::sqrt(3.0);
  EXPECT_TRUE(near(y, test::f64({root3, -1 / root3, -1 / root3, -1 / root3}), 1e-14));
  EXPECT_TRUE(std::isnan(layer_norm(test::f64({1, kInf}), Tensor(), Tensor()).at({0})));
}

TEST(LayerNorm, TakesNoRowsButNotNoColumns) {
  EXPECT_EQ(layer_norm(zeros({0, 3}), ones({3}), Tensor()).shape(), (Shape{0, 3}));
  EXPECT_THAT(
      [] {
        layer_norm(zeros({3, 0}), Tensor(), Tensor());
      },
      ThrowsMessage<ShapeError>(HasSubstr("got (3, 0)")));
  EXPECT_THAT([] { layer_norm(zeros({3}), ones({3}, DType::f64), Tensor()); },
              ThrowsMessage<DTypeError>(HasSubstr("weight of f32, got f64")));
  EXPECT_THAT([] { layer_norm(zeros({3}), Tensor(), Tensor(), 0); },
              ThrowsMessage<ValueError>(HasSubstr("eps above 0, got 0")));
}

// --- cross_entropy

double loss_of(std::initializer_list<double> logits, double target) {
  const auto n = static_cast<Index>(logits.size());
  Tensor x = leaf(logits, {1, n});
  const Tensor loss = cross_entropy(x, labels({target}));
  loss.backward();
  EXPECT_TRUE(all_finite(x.grad().data()));
  return loss.item();
}

TEST(CrossEntropy, DoesNotUnderflow) {
  EXPECT_NEAR(loss_of({10, 0, -100}, 2), 110.0000454, 1e-7);
  EXPECT_NEAR(loss_of({50, 0, -120}, 2), 170, 1e-12);
  EXPECT_NEAR(loss_of({2, 1, 0.5}, 2), 1.964368784, 1e-9);
  EXPECT_EQ(loss_of({-kInf, 0}, 1), 0.0);
  EXPECT_NEAR(loss_of({1000, 1000}, 0), std::log(2.0), 1e-12);
}

TEST(CrossEntropy, OfZeroLogitsIsTheLogOfTheirNumber) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    EXPECT_NEAR(cross_entropy(zeros({3, 65}, dtype), labels({0, 64, 5})).item(), 4.174387270, 1e-6);
    EXPECT_NEAR(cross_entropy(zeros({1, 50257}, dtype), labels({7})).item(), 10.82490512, 1e-6);
  }
}

/// A loss is a difference of logits: where all of them lie, it does not see.
TEST(CrossEntropy, OfEqualLogitsIsTheSameAnywhere) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    for (const double offset : {0.0, 1.0, 1e4, 1e10, 1e15, 1e16, 1e17, -1e17, -1e38, 3e38}) {
      Tensor x = full({1, 4}, offset, dtype).requires_grad_();
      const Tensor loss = cross_entropy(x, labels({2}));
      EXPECT_NEAR(loss.item(), std::log(4.0), dtype == DType::f32 ? 1e-7 : 1e-15) << offset;
      loss.backward();
      EXPECT_TRUE(near(x.grad(), tensor({.25, .25, -.75, .25}, {1, 4}, dtype), 1e-15)) << offset;
    }
  }
}

TEST(CrossEntropy, OfFarLogitsIsThatOfTheirDifferences) {
  Generator draws(5);
  const Tensor near_zero = Tensor((randn({3, 300}, DType::f64, draws).data() * 64.0)
                                      .to(DType::i64)
                                      .to(DType::f64));  // whole numbers, exact at 2^52
  const Tensor target = labels({0, 299, 128});
  const Tensor far = Tensor(near_zero.data() + 0x1p52).requires_grad_();
  Tensor x = near_zero.detach().requires_grad_();
  const Tensor a = cross_entropy(x, target), b = cross_entropy(far, target);
  EXPECT_TRUE(bit_equal(a.data(), b.data()));
  a.backward();
  b.backward();
  EXPECT_TRUE(bit_equal(x.grad().data(), far.grad().data()));
}

TEST(CrossEntropy, LeavesOutWhatIsIgnored) {
  const auto run = [](const Tensor& x, Reduction reduction) {
    return cross_entropy(x, labels({0, 1, 255, 0}), {.ignore_index = 255, .reduction = reduction});
  };
  Tensor x = leaf({1, 2, 3, 4, 5, 7, 7, 8, 9, 1, 1, 2}, {4, 3});
  const Tensor each = run(x, Reduction::none);
  EXPECT_EQ(each.shape(), Shape{4});
  EXPECT_EQ(each.at({2}), 0.0);
  EXPECT_NEAR(run(x, Reduction::mean).item(), sum(each).item() / 3, 1e-15);
  EXPECT_NEAR(run(x, Reduction::sum).item(), sum(each).item(), 1e-15);
  run(x, Reduction::mean).backward();
  for (Index j = 0; j < 3; ++j) EXPECT_EQ(x.grad().at({2, j}), 0.0);
  EXPECT_NE(x.grad().at({3, 0}), 0.0);
}

TEST(CrossEntropy, OfNothingThatCountsThrows) {
  const auto ignored = [](Reduction reduction) {
    return cross_entropy(zeros({2, 5}), labels({-100, -100}), {.reduction = reduction});
  };
  EXPECT_THAT([&] { ignored(Reduction::mean); },
              ThrowsMessage<ValueError>(HasSubstr("all 2 of (2,) are ignored")));
  EXPECT_EQ(ignored(Reduction::sum).item(), 0.0);
}

TEST(CrossEntropy, RefusesWhatDoesNotFit) {
  EXPECT_THAT(
      [] {
        cross_entropy(zeros({3, 3}), labels({99, 1, 2}));
      },
      ThrowsMessage<ValueError>(HasSubstr("targets in [0, 3) or -100, got 99 at position "
                                          "0")));
  EXPECT_THAT(
      [] {
        cross_entropy(zeros({3, 3}), labels({0, 1, -1}));
      },
      ThrowsMessage<ValueError>(HasSubstr("got -1 at position 2")));
  EXPECT_THAT(
      [] {
        cross_entropy(zeros({3, 3}), labels({0, 3, 1}));
      },
      ThrowsMessage<ValueError>(HasSubstr("got 3 at position 1")));
  EXPECT_THAT(
      [] {
        cross_entropy(zeros({3, 3}), labels({0, 1}));
      },
      ThrowsMessage<ShapeError>(HasSubstr("got (3, 3) and (2,)")));
  EXPECT_THAT(
      [] {
        cross_entropy(zeros({2, 3}), zeros({2}));
      },
      ThrowsMessage<DTypeError>(HasSubstr("target of i64, got f32")));
}

TEST(CrossEntropy, IsLogSoftmaxAtTheTarget) {
  const Tensor x = randn({6, 9}, DType::f64);
  const Tensor target = labels({0, 8, 3, 3, 1, 5});
  const Tensor want = -log_softmax(x, -1);
  const Tensor got = cross_entropy(x, target, {.reduction = Reduction::none});
  for (Index i = 0; i < 6; ++i) {
    EXPECT_NEAR(got.at({i}), want.at({i, static_cast<Index>(target.at({i}))}), 1e-14);
  }
}

// --- mse

TEST(Mse, IsTheMeanOfTheSquares) {
  Tensor x = leaf({1, 2, 4}, {3});
  const Tensor loss = mse(x, tensor({1, 0, 1}, DType::f64));
  EXPECT_NEAR(loss.item(), 13.0 / 3, 1e-15);
  loss.backward();
  EXPECT_TRUE(near(x.grad(), tensor({0, 4.0 / 3, 2}, DType::f64), 1e-15));
  EXPECT_THAT([] { mse(zeros({3}), zeros({1})); },
              ThrowsMessage<ShapeError>(HasSubstr("got (3,) and (1,)")));
}

}  // namespace
}  // namespace autograd
