// pad and unfold: margins and windows, and the convolution and pooling that they are for.

#include <gmock/gmock.h>

#include <limits>

#include "autograd/graph/anomaly.h"
#include "tests/support/tensors.h"

namespace {

using namespace autograd;
using test::f64;
using test::leaf;
using test::message_of;
using test::near;
using testing::HasSubstr;

constexpr double kInf = std::numeric_limits<double>::infinity();

TEST(Pad, AddsAndCuts) {
  const Tensor x = leaf({1, 2, 3});
  EXPECT_TRUE(near(pad(x, {1, 2}, 9), f64({9, 1, 2, 3, 9, 9}), 0));
  EXPECT_TRUE(near(pad(x, {-1, 1}), f64({2, 3, 0}), 0));
  EXPECT_TRUE(near(pad(x, {-3, 0}), zeros({0}, DType::f64), 0));
  EXPECT_TRUE(near(pad(x, {}), x, 0));
  pad(x, {-1, 2}, 7).backward(f64({10, 20, 30, 40}));
  EXPECT_TRUE(near(x.grad(), f64({0, 10, 20}), 0));
}

/// The shapes of F.pad's documentation.
TEST(Pad, TakesTheLastDimFirst) {
  const Tensor x = zeros({3, 3, 4, 2});
  EXPECT_EQ(pad(x, {1, 1}).shape(), Shape({3, 3, 4, 4}));
  EXPECT_EQ(pad(x, {1, 1, 2, 2}).shape(), Shape({3, 3, 8, 4}));
  EXPECT_EQ(pad(x, {0, 1, 2, 1, 3, 3}).shape(), Shape({3, 9, 7, 3}));
  const Tensor y = pad(f64({1, 2, 3, 4}, {2, 2}), {1, 0, -1, 1}, 5);
  EXPECT_TRUE(near(y, f64({5, 3, 4, 5, 5, 5}, {2, 3}), 0));
}

TEST(Pad, KeepsEveryDType) {
  const Tensor ids = pad(tensor({4, 5}, DType::i64), {0, 1}, -100);
  EXPECT_TRUE(bit_equal(ids.data(), tensor({4, 5, -100}, DType::i64).data()));
  const Tensor mask = pad(tensor({1}, DType::b8), {1, 1}, 0);
  EXPECT_TRUE(bit_equal(mask.data(), tensor({0, 1, 0}, DType::b8).data()));
  EXPECT_TRUE(near(pad(zeros({0}, DType::f64), {1, 1}, 3), f64({3, 3}), 0));
  EXPECT_TRUE(near(pad(f64({7}, {}), {}), f64({7}, {}), 0));
}

/// -inf is what the largest of a window is padded with, and not an anomaly.
TEST(Pad, PutsInfinitiesWhereItIsTold) {
  const AnomalyGuard guard;
  const Tensor x = leaf({1, 2, 3});
  const Tensor best = pad(x, {1, 1}, -kInf).unfold(0, 3, 1).max({-1});
  EXPECT_TRUE(near(best, f64({2, 3, 3}), 0));
  best.sum().backward();
  EXPECT_TRUE(near(x.grad(), f64({0, 1, 2}), 0));
}

TEST(Pad, NamesWhatDoesNotFit) {
  const Tensor x = zeros({2, 3});
  const auto says = [](auto call, const char* text) {
    EXPECT_THAT(message_of<ShapeError>(call), HasSubstr(text));
  };
  says([&] { (void)pad(x, {1}); }, "pad: expected two numbers for each of up to 2 dims of (2, 3)");
  says([&] { (void)pad(x, {1, 1, 1, 1, 1, 1}); }, "got 6");
  says([&] { (void)pad(x, {-2, -2}); }, "dim 1 of (2, 3) a size of 0 or more, got -2 and -2");
  says([&] { (void)pad(x, {0, 0, -3, 5}); }, "dim 0 of (2, 3)");
  says([&] { (void)pad(x, {0, std::numeric_limits<Index>::max()}); }, "pad: ");
  says([&] { (void)pad(x, {std::numeric_limits<Index>::min(), 0}); }, "pad: ");
}

TEST(Unfold, TakesWindows) {
  const Tensor x = arange(1, 8).to(DType::f64);
  EXPECT_TRUE(near(unfold(x, 0, 2, 1), f64({1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7}, {6, 2}), 0));
  EXPECT_TRUE(near(x.unfold(0, 2, 2), f64({1, 2, 3, 4, 5, 6}, {3, 2}), 0));
  EXPECT_TRUE(near(unfold(x, -1, 3, 100), f64({1, 2, 3}, {1, 3}), 0));
  const Tensor y = f64({1, 2, 3, 4, 5, 6}, {3, 2});
  EXPECT_TRUE(near(unfold(y, 0, 2, 1), f64({1, 3, 2, 4, 3, 5, 4, 6}, {2, 2, 2}), 0));
}

TEST(Unfold, AddsGradientsWhereWindowsOverlap) {
  const auto gradient = [](Index size, Index step) {
    const Tensor x = zeros({7}, DType::f64).requires_grad_();
    unfold(x, 0, size, step).sum().backward();
    return x.grad().detach();
  };
  EXPECT_TRUE(near(gradient(3, 2), f64({1, 1, 2, 1, 2, 1, 1}), 0));
  EXPECT_TRUE(near(gradient(3, 1), f64({1, 2, 3, 3, 3, 2, 1}), 0));
  EXPECT_TRUE(near(gradient(2, 3), f64({1, 1, 0, 1, 1, 0, 0}), 0));
  EXPECT_TRUE(near(gradient(7, std::numeric_limits<Index>::max()), ones({7}, DType::f64), 0));
}

TEST(Unfold, TakesScalarsOtherDTypesAndNothing) {
  EXPECT_TRUE(near(unfold(f64({7}, {}), 0, 1, 1), f64({7}), 0));
  EXPECT_EQ(unfold(zeros({3}), 0, 0, 1).shape(), Shape({4, 0}));
  EXPECT_EQ(unfold(zeros({0, 4}), 1, 2, 2).shape(), Shape({0, 2, 2}));
  EXPECT_EQ(unfold(zeros({0}), 0, 0, 5).shape(), Shape({1, 0}));
  EXPECT_EQ(unfold(tensor({1, 0}, DType::b8), 0, 2, 1).dtype(), DType::b8);
  const Tensor x = zeros({0, 4}, DType::f64).requires_grad_();
  unfold(x, 1, 2, 2).sum().backward();
  EXPECT_EQ(x.grad().shape(), Shape({0, 4}));
}

TEST(Unfold, NamesWhatDoesNotFit) {
  const Tensor x = zeros({2, 3});
  EXPECT_THAT(
      message_of<ShapeError>([&] { (void)unfold(x, 1, 4, 1); }),
      HasSubstr("unfold: expected windows of a size in [0, 3] along dim 1 of (2, 3), got 4"));
  EXPECT_THAT(message_of<ValueError>([&] { (void)unfold(x, 1, 2, 0); }),
              HasSubstr("unfold: expected a step of at least 1, got 0"));
  EXPECT_THAT(message_of<ShapeError>([&] { (void)unfold(x, 2, 1, 1); }), HasSubstr("unfold: "));
  const Tensor deep = zeros({1, 1, 1, 1, 1, 1, 1, 1});
  EXPECT_THAT(message_of<ShapeError>([&] { (void)unfold(deep, 0, 1, 1); }),
              HasSubstr("at most 8 dims"));
}

/// conv1d with a stride and zeros around: windows times weights, against the sum that defines it.
TEST(Unfold, MakesAConvolution) {
  constexpr Index B = 2, in = 3, out = 4, L = 11, K = 3, stride = 2, margin = 1;
  Generator generator(6);
  const Tensor x = randn({B, in, L}, DType::f64, generator);
  const Tensor w = randn({out, in, K}, DType::f64, generator);
  const Tensor windows = pad(x, {margin, margin}).unfold(2, K, stride);  // (B, in, W, K)
  const Index W = windows.size(2);
  const Tensor rows = windows.permute({0, 2, 1, 3}).reshape({B, W, in * K});
  const Tensor y = linear(rows, w.reshape({out, in * K}));  // (B, W, out)
  ASSERT_EQ(W, (L + 2 * margin - K) / stride + 1);
  for (Index b = 0; b < B; ++b) {
    for (Index o = 0; o < out; ++o) {
      for (Index t = 0; t < W; ++t) {
        double sum = 0;
        for (Index c = 0; c < in; ++c) {
          for (Index k = 0; k < K; ++k) {
            const Index at = t * stride + k - margin;
            if (at >= 0 && at < L) sum += x.at({b, c, at}) * w.at({o, c, k});
          }
        }
        EXPECT_NEAR(y.at({b, t, o}), sum, 1e-13);
      }
    }
  }
}

}  // namespace
