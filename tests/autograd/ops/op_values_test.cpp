#include <cmath>
#include <limits>

#include "autograd/array/matmul.h"
#include "autograd/machine/parallel.h"
#include "tests/support/tensors.h"

// Values and gradients that were wrong somewhere else once, with the right ones.

namespace {

using namespace autograd;
using test::f64;
using test::leaf;
using test::message_of;
using test::near;

constexpr double kInf = std::numeric_limits<double>::infinity();
const double kNan = std::nan("");

TEST(Linear, TakesABatchOfNoRows) {
  Generator generator(1);
  const Tensor x = zeros({0, 5}, DType::f64).requires_grad_();
  const Tensor w = randn({3, 5}, DType::f64, generator).requires_grad_();
  const Tensor b = randn({3}, DType::f64, generator).requires_grad_();
  const Tensor y = linear(x, w, b);
  EXPECT_EQ(y.shape(), Shape({0, 3}));
  sum(y).backward();
  EXPECT_EQ(sum(y).item(), 0);
  EXPECT_TRUE(near(w.grad(), zeros({3, 5}), 0));
  EXPECT_TRUE(near(b.grad(), zeros({3}), 0));
  EXPECT_EQ(x.grad().shape(), Shape({0, 5}));
  EXPECT_NE(message_of<ShapeError>([&] {
              (void)linear(zeros({2, 4}, DType::f64), w);
            }).find("(2, 4) and (3, 5)"),
            std::string::npos);
}

TEST(Matmul, AgreesWithTheBatchFolded) {
  const Tensor a = leaf({1, 2}, {1, 2});
  const Tensor b = leaf({1, 1, 10, 10}, {2, 2, 1});
  const Tensor y = matmul(a, b);
  EXPECT_TRUE(near(y, f64({3, 30}, {2, 1, 1}), 0));
  sum(y).backward();
  EXPECT_TRUE(near(a.grad(), f64({11, 11}, {1, 2}), 0));
  EXPECT_TRUE(near(b.grad(), f64({1, 2, 1, 2}, {2, 2, 1}), 0));
}

TEST(Matmul, HasTheSameBitsForAnyThreadCount) {
  Generator generator(4);
  const int before = num_threads();
  const Index sizes[][3] = {
      {1024, 64, 64}, {300, 257, 65}, {64, 768, 768}, {1, 1000, 1000}, {1024, 8, 1024}};
  for (const auto& [m, k, n] : sizes) {
    const Array a = normal({m, k}, 0, 1, DType::f32, generator.next());
    const Array b = normal({k, n}, 0, 1, DType::f32, generator.next());
    set_num_threads(1);
    const Array c = matmul(a, b), d = matmul(c, b, Trans::no, Trans::yes);
    for (const int threads : {2, 3, 4}) {
      set_num_threads(threads);
      EXPECT_TRUE(bit_equal(matmul(a, b), c)) << m << " " << k << " " << n;
      EXPECT_TRUE(bit_equal(matmul(c, b, Trans::no, Trans::yes), d));
    }
  }
  set_num_threads(before);
}

TEST(Matmul, NamesBothShapes) {
  const std::string text = message_of<ShapeError>([] {
    (void)matmul(zeros({2, 3}), zeros({4, 5}));
  });
  EXPECT_NE(text.find("(2, 3)"), std::string::npos);
  EXPECT_NE(text.find("(4, 5)"), std::string::npos);
  EXPECT_EQ(matmul(zeros({2, 0}), zeros({0, 3})).shape(), Shape({2, 3}));
  EXPECT_EQ(sum(matmul(zeros({2, 0}), zeros({0, 3}))).item(), 0);
}

TEST(Split, GivesBackEveryPartOfTheGradient) {
  const Tensor x = zeros({2, 3, 12}, DType::f64).requires_grad_();
  const auto [q, k, v] = split<3>(x, 4, -1);
  sum(q * 1.0 + k * 2.0 + v * 3.0).backward();
  const Tensor row = f64({1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3});
  EXPECT_TRUE(near(x.grad(), row.expand({2, 3, 12}), 0));
  EXPECT_THROW((void)split<2>(x, 4, -1), ShapeError);
  EXPECT_EQ(split(x, 5, -1).back().shape(), Shape({2, 3, 2}));
}

TEST(Max, SharesTiesSoThatTheGradientSumsToOne) {
  const Tensor x = ones({4, 3}, DType::f64).requires_grad_();
  sum(max(x, {0})).backward();
  EXPECT_TRUE(near(x.grad(), full({4, 3}, 0.25, DType::f64), 0));
  const Tensor y = leaf({1, 3, 3});
  max(y).backward();
  EXPECT_TRUE(near(y.grad(), f64({0, 0.5, 0.5}), 0));
  const Tensor a = leaf({1, 2, 3}), b = leaf({3, 2, 1});
  sum(maximum(a, b)).backward();
  EXPECT_TRUE(near(a.grad(), f64({0, 0.5, 1}), 0));
  EXPECT_TRUE(near(b.grad(), f64({1, 0.5, 0}), 0));
  EXPECT_TRUE(std::isnan(maximum(f64({kNan}), f64({1})).item()));
  EXPECT_TRUE(std::isnan(minimum(f64({1}), f64({kNan})).item()));
}

TEST(Pow, HasFiniteSlopesAtZero) {
  const Tensor a = leaf({0, 2}), b = leaf({1, 1});
  sum(pow(a, b)).backward();
  EXPECT_TRUE(near(b.grad(), f64({0, 1.386294361}), 1e-9));
  EXPECT_TRUE(near(a.grad(), f64({1, 1}), 0));
  for (const double exponent : {2.0, 3.0, 0.0}) {
    const Tensor x = leaf({0});
    pow(x, exponent).backward();
    EXPECT_EQ(x.grad().item(), 0) << exponent;
  }
}

TEST(Norm, HasGradientZeroAtTheOrigin) {
  const Tensor x = leaf({0, 0});
  norm(x).backward();
  EXPECT_TRUE(near(x.grad(), f64({0, 0}), 0));
  const Tensor small = leaf({3e-200, 4e-200}), large = leaf({3e200, 4e200});
  EXPECT_NEAR(norm(small).item() / 5e-200, 1, 1e-15);
  EXPECT_NEAR(norm(large).item() / 5e200, 1, 1e-15);
  const Tensor big = full({2}, 3e38).requires_grad_();
  norm(big).backward();
  EXPECT_NEAR(big.grad().at({0}), 0.7071068, 1e-7);
  norm(large).backward();
  EXPECT_TRUE(near(large.grad(), f64({0.6, 0.8}), 1e-15));
  EXPECT_EQ(norm(zeros({0})).item(), 0);
  const Tensor y = leaf({0, 0});
  sqrt(sum(y * y)).backward();
  EXPECT_TRUE(std::isnan(y.grad().at({0}))) << "0 * inf, as the header of sqrt says";
}

TEST(Gelu, IsTameFarOut) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    for (const Gelu form : {Gelu::erf, Gelu::tanh}) {
      const Tensor x = tensor({-1e20, -500, -13.24, 13.24, 500}, dtype).requires_grad_();
      const Tensor y = gelu(x, form);
      sum(y).backward();
      EXPECT_TRUE(near(y.narrow(0, 0, 3), zeros({3}), 1e-30));
      EXPECT_NEAR(y.at({3}), 13.24, 1e-6);
      EXPECT_EQ(y.at({4}), 500);
      EXPECT_TRUE(near(x.grad(), f64({0, 0, 0, 1, 1}), 1e-6));
    }
  }
}

TEST(Gelu, FormsDifferInValueAndSlope) {
  Tensor x = leaf({1});
  Tensor y = gelu(x);
  y.backward();
  EXPECT_NEAR(y.item(), 0.8413447461, 1e-10);
  EXPECT_NEAR(x.grad().item(), 1.083315471, 1e-9);
  x.zero_grad();
  y = gelu(x, Gelu::tanh);
  y.backward();
  EXPECT_NEAR(y.item(), 0.8411919906, 1e-10);
  EXPECT_NEAR(x.grad().item(), 1.082964084, 1e-9);
}

TEST(Relu, KeepsNan) {
  const Tensor x = leaf({kNan, -1, 2, 0});
  const Tensor y = relu(x);
  EXPECT_TRUE(near(y, f64({kNan, 0, 2, 0}), 0));
  sum(y).backward();
  EXPECT_TRUE(near(x.grad(), f64({0, 0, 1, 0}), 0));
}

TEST(Embedding, AddsRepeatedRows) {
  const Tensor w = leaf({0, 1}, {2, 1});
  sum(embedding(w, tensor({0, 0}, DType::i64))).backward();
  EXPECT_TRUE(near(w.grad(), f64({2, 0}, {2, 1}), 0));
  const Tensor x = leaf({0.1}, {1, 1});
  embedding(x, tensor({0, 0}, DType::i64)).backward(f64({0.2, 0.3}, {2, 1}));
  EXPECT_NEAR(x.grad().item(), 0.5, 1e-16);
  EXPECT_THROW((void)embedding(w, tensor({0})), DTypeError);
}

TEST(Mean, OfWhichNothingIsLeft) {
  const Tensor x = leaf({1, 2, 3, 4});
  (x - mean(x)).backward(ones({4}, DType::f64), Retain::yes);
  EXPECT_TRUE(near(x.grad(), zeros({4}), 1e-15));
  const Tensor y = leaf({1, 2, 3, 4});
  (y - mean(y)).backward(f64({1, 0, 0, 0}));
  EXPECT_TRUE(near(y.grad(), f64({0.75, -0.25, -0.25, -0.25}), 1e-15));
}

TEST(Division, ByANumberIsExact) {
  EXPECT_EQ((f64({49}) / 49.0).item(), 1) << "49 * (1 / 49) is not";
  const Tensor x = leaf({2});
  (3.0 / x).backward();
  EXPECT_EQ(x.grad().item(), -0.75);
  EXPECT_EQ((1.0 - x).item(), -1);
}

TEST(Compare, KeepsIntegersApartThatAreOneDouble) {
  constexpr std::int64_t kBig = std::int64_t{1} << 53,
                         kMost = std::numeric_limits<std::int64_t>::max();
  const auto integers = [](std::vector<std::int64_t> values) {
    return from_values<std::int64_t>(values, {static_cast<Index>(values.size())});
  };
  const Tensor a = integers({kBig + 1, kMost}), b = integers({kBig, kMost - 1});
  EXPECT_TRUE(near(eq(a, b), f64({0, 0}), 0));
  EXPECT_TRUE(near(gt(a, b), f64({1, 1}), 0));
  EXPECT_FALSE(allclose(a, b, 0, 0.5));
  EXPECT_TRUE(allclose(a, b, 0, 1));
  EXPECT_TRUE(allclose(a, a, 0, 0));
  EXPECT_FALSE(allclose(integers({kMost}), integers({-kMost - 1}), 1, 1)) << "2^64 - 1 apart";
  EXPECT_NE(to_string(a).find("9007199254740993"), std::string::npos) << to_string(a);
}

TEST(Layout, WorksOnIndicesAndMasks) {
  const Tensor i = arange(6).reshape({2, -1});
  EXPECT_EQ(i.shape(), Shape({2, 3}));
  EXPECT_TRUE(near(i.transpose(0, 1).select(1, 1), f64({3, 4, 5}), 0));
  EXPECT_TRUE(near(stack({arange(2), arange(2)}, 0), f64({0, 1, 0, 1}, {2, 2}), 0));
  EXPECT_TRUE(near(tril(ones({2, 2})), f64({1, 0, 1, 1}, {2, 2}), 0));
  EXPECT_TRUE(near(logical_not(eq(arange(2), arange(2))), f64({0, 0}), 0));
  EXPECT_THROW((void)i.reshape({4, -1}), ShapeError);
  EXPECT_THROW((void)i.reshape({-1, -1}), ShapeError);
  EXPECT_EQ(reshape(i, {-1, 2}).shape(), (Shape{3, 2}));
  EXPECT_EQ(reshape(i, {1, 6}).shape(), (Shape{1, 6}));
  EXPECT_THROW((void)reshape(i, {-1, 4}), ShapeError);
  EXPECT_THROW((void)i.squeeze(0), ShapeError);
  EXPECT_EQ(i.unsqueeze(-1).shape(), Shape({2, 3, 1}));
  EXPECT_EQ(zeros({0, 4}).reshape({2, 0}).numel(), 0);
}

TEST(ZeroRank, TakesTheDimsOfOneElement) {
  const Tensor x = full({}, 3.0);
  EXPECT_EQ(argmax(x, -1).item(), 0);
  EXPECT_EQ(squeeze(x, 0).shape(), Shape({}));
  EXPECT_EQ(transpose(x, 0, -1).item(), 3);
  EXPECT_EQ(log_softmax(x, 0).item(), 0);
  EXPECT_THROW((void)argmax(x, 1), ShapeError);
  EXPECT_EQ(gt(x, x).op(), "gt");
  EXPECT_EQ(argmax(f64({1, 2}), 0).op(), "argmax");
  const Index far = std::numeric_limits<Index>::max();
  EXPECT_TRUE(near(tril(ones({2, 2}), far), ones({2, 2}), 0));
}

TEST(Errors, NameTheOp) {
  const Tensor x = zeros({2, 3}), mask = zeros({2, 3});
  EXPECT_EQ(message_of<DTypeError>([&] { (void)masked_fill(x, mask, 1); }).rfind("masked_fill", 0),
            0u);
  EXPECT_EQ(message_of<DTypeError>([&] { (void)where(mask, x, x); }).rfind("where", 0), 0u);
  EXPECT_EQ(message_of<DTypeError>([&] { (void)embedding(x, mask); }).rfind("embedding", 0), 0u);
  EXPECT_EQ(message_of<ShapeError>([&] {
              (void)concat({x, zeros({2})}, 1);
            }).rfind("concat", 0),
            0u);
  EXPECT_EQ(message_of<DTypeError>([&] { (void)softmax(arange(3), 0); }).rfind("softmax", 0), 0u);
}

TEST(Allclose, TreatsSpecialValuesAsPyTorchDoes) {
  EXPECT_TRUE(allclose(f64({1, kInf}), f64({1 + 1e-9, kInf})));
  EXPECT_FALSE(allclose(f64({1}), f64({1.1})));
  EXPECT_FALSE(allclose(f64({kNan}), f64({kNan})));
  EXPECT_FALSE(allclose(f64({1}), f64({kInf})));
  EXPECT_THROW((void)allclose(f64({1}), tensor({1})), DTypeError);
}

TEST(Tensor, ReadsElements) {
  const Tensor x = f64({1, 2, 3, 4}, {2, 2});
  EXPECT_EQ(x.at({1, 0}), 3);
  EXPECT_EQ(x.at({-1, -1}), 4);
  EXPECT_THROW((void)x.at({2, 0}), ValueError);
  EXPECT_THROW((void)x.at({0}), ShapeError);
  EXPECT_THROW((void)x.item(), ShapeError);
  EXPECT_THROW((void)x.dims<3>("attention: x is (B, T, C)"), ShapeError);
  EXPECT_THROW((void)tensor({1, 2}, Shape{3}), ShapeError);
}

}  // namespace
