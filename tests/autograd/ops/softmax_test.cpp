#include <cmath>
#include <limits>

#include "tests/support/tensors.h"

namespace {

using namespace autograd;
using test::f64;
using test::leaf;
using test::near;

constexpr double kInf = std::numeric_limits<double>::infinity();

std::vector<Index> lengths() {
  std::vector<Index> list = {127, 128, 4097};
  for (Index n = 1; n <= 70; ++n) list.push_back(n);
  return list;
}

TEST(Softmax, NeverOverflows) {
  EXPECT_TRUE(near(softmax(f64({1000, 0, -1000}), 0), f64({1, 0, 0}), 0));
  const Tensor x = leaf({-249.873, -424.127, -460.293, 378.097, -292.615});
  const Tensor y = softmax(x, 0);
  EXPECT_TRUE(near(y, f64({0, 0, 0, 1, 0}), 1e-200));
  y.backward(f64({3, -1, 4, -1, 5}));
  EXPECT_TRUE(near(x.grad(), zeros({5}), 1e-200));
}

TEST(Softmax, OfNothingButMinusInfinityIsNanAtEveryLength) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    for (const Index n : lengths()) {
      for (const double v : test::values_of(softmax(full({n}, -kInf, dtype), 0))) {
        ASSERT_TRUE(std::isnan(v)) << n;
      }
    }
  }
}

TEST(Softmax, OfAnInfiniteLogitIsNan) {
  for (const Tensor& x : {f64({kInf, 0}), f64({kInf, 0, kInf})}) {
    for (const double v : test::values_of(softmax(x, 0))) EXPECT_TRUE(std::isnan(v));
  }
}

TEST(Softmax, GivesExactlyZeroAtMinusInfinity) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    for (Index n = 2; n <= 70; ++n) {
      for (Index j = 0; j < n; ++j) {
        Tensor x = zeros({n}, dtype);
        x.select_(0, j) = -kInf;
        const Tensor y = softmax(x, 0);
        ASSERT_EQ(y.at({j}), 0.0) << "element " << j << " of " << n;
        ASSERT_NEAR(y.at({j == 0 ? 1 : 0}), 1.0 / static_cast<double>(n - 1), 1e-7);
      }
    }
  }
}

TEST(Softmax, HasTheWholeJacobian) {
  const Tensor x = leaf({1, 2, 3});
  softmax(x, 0).backward(f64({1, 0, 0}));
  EXPECT_TRUE(near(x.grad(), f64({0.08192506906, -0.02203304452, -0.05989202454}), 1e-11));
  EXPECT_NEAR(sum(x.grad()).item(), 0, 1e-16);
}

TEST(Softmax, TimesAZeroMaskHasAFiniteGradient) {
  const Tensor x = leaf({0, -kInf, -kInf});
  const Tensor y = sum(softmax(x, 0) * f64({0, 1, 0}));
  EXPECT_EQ(y.item(), 0);
  y.backward();
  EXPECT_TRUE(near(x.grad(), zeros({3}), 0));
}

TEST(Softmax, AlongAnyDim) {
  Generator generator(8);
  const Tensor x = randn({3, 4, 5}, DType::f64, generator);
  for (int dim = -3; dim < 3; ++dim) {
    EXPECT_TRUE(near(sum(softmax(x, dim), {dim}), ones(x.shape().without((dim + 3) % 3)), 1e-15));
    EXPECT_TRUE(near(exp(log_softmax(x, dim)), softmax(x, dim), 1e-15));
    const Tensor all = ge(x, x);
    EXPECT_TRUE(bit_equal(masked_softmax(x, all, dim).data(), softmax(x, dim).data()));
  }
  EXPECT_EQ(softmax(full({}, 3.0), -1).item(), 1);
  EXPECT_EQ(softmax(zeros({0, 3}), 1).shape(), Shape({0, 3}));
  EXPECT_EQ(softmax(zeros({3, 0}), 1).shape(), Shape({3, 0}));
  EXPECT_THROW((void)softmax(x, 3), ShapeError);
}

TEST(LogSoftmax, HasTheRightGradient) {
  const Tensor x = leaf({0.1, 0.9});
  log_softmax(x, 0).backward(f64({1, 1}));
  EXPECT_TRUE(near(x.grad(), f64({0.3799489623, -0.3799489623}), 1e-10));
  const Tensor y = leaf({-0.6871, 0.7898, 0.2011, 0.0949, -0.0550});
  log_softmax(y, 0).backward(ones({5}, DType::f64));
  EXPECT_TRUE(near(y.grad(),
                   f64({0.5790358605, -0.8435487302, -0.0232587339, 0.0798399238, 0.2079316799}),
                   1e-10));
}

TEST(LogSoftmax, KeepsWhatSoftmaxLoses) {
  EXPECT_TRUE(near(log_softmax(f64({10, 0, -100}), 0).select(0, 2), f64({-110.0000454}, {}), 1e-7));
  EXPECT_EQ(log_softmax(tensor({50, 0, -120}), 0).at({2}), -170);
}

TEST(MaskedSoftmax, OfAFullyMaskedRowIsZeroInValueAndGradient) {
  const Tensor x = leaf({1, 2, kInf, std::nan(""), 3, 4}, {3, 2});
  const Tensor mask = f64({1, 1, 0, 0, 0, 1}, {3, 2}).to(DType::b8);
  const Tensor y = masked_softmax(x, mask, -1);
  EXPECT_TRUE(near(y.select(0, 1), f64({0, 0}), 0));
  EXPECT_TRUE(near(y.select(0, 2), f64({0, 1}), 0));
  EXPECT_NEAR(y.at({0, 1}), 1 / (1 + std::exp(-1)), 1e-15);
  y.backward(f64({1, 2, 3, 4, 5, 6}, {3, 2}));
  EXPECT_TRUE(near(x.grad().select(0, 1), f64({0, 0}), 0));
  EXPECT_TRUE(near(x.grad().select(0, 2), f64({0, 0}), 0));
  EXPECT_THROW((void)masked_softmax(x, x, -1), DTypeError);
}

TEST(MaskedSoftmax, StopsEvenNanGradientsAtMaskedPlaces) {
  const Tensor x = leaf({1, 2, 3, 4}, {2, 2});
  const Tensor mask = f64({1, 1, 0, 0}, {2, 2}).to(DType::b8);
  const double nan = std::nan("");
  masked_softmax(x, mask, -1).backward(f64({1, 2, nan, kInf}, {2, 2}));
  EXPECT_TRUE(near(x.grad().select(0, 1), f64({0, 0}), 0));
  EXPECT_NE(x.grad().at({0, 0}), 0);
}

TEST(MaskedSoftmax, EqualsSoftmaxOverMinusInfinity) {
  Generator generator(9);
  const Tensor x = randn({6, 7}, DType::f64, generator);
  const Tensor mask = gt(x, zeros({1}, DType::f64));
  const Tensor kept = masked_softmax(x, mask, -1);
  const Tensor filled = softmax(masked_fill(x, logical_not(mask), -kInf), -1);
  EXPECT_TRUE(bit_equal(kept.data(), filled.data()));
}

}  // namespace
