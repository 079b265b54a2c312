// var, logsumexp, any and all, counts and shares of masks.

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "tests/support/tensors.h"

namespace {

using namespace autograd;
using test::f64;
using test::leaf;
using test::message_of;
using test::near;
using testing::HasSubstr;

constexpr double kInf = std::numeric_limits<double>::infinity();
const double kNan = std::nan("");

Tensor mask(std::initializer_list<double> values, const Shape& shape) {
  return tensor(values, shape, DType::b8);
}

TEST(Dims, AreOneOrSeveral) {
  const Tensor x = f64({1, 2, 3, 4, 5, 6}, {2, 3});
  const Tensor rows = f64({6, 15}), columns = f64({5, 7, 9});
  EXPECT_TRUE(near(x.sum(-1), rows, 0));
  EXPECT_TRUE(near(x.sum(0), columns, 0));
  EXPECT_TRUE(near(x.sum({0}), columns, 0));
  EXPECT_TRUE(near(sum(x, 1), rows, 0));
  EXPECT_TRUE(near(x.sum(-1, KeepDim::yes), rows.reshape({2, 1}), 0));
  EXPECT_TRUE(near(x.mean(-1), f64({2, 5}), 0));
  EXPECT_TRUE(near(x.max(0), f64({4, 5, 6}), 0));
  for (const Tensor& all : {x.sum(), x.sum({}), x.sum({0, -1}), sum(x, std::vector<int>{1, 0})}) {
    EXPECT_TRUE(near(all, f64({21}, {}), 0));
  }
  EXPECT_THAT(message_of<ShapeError>([&] { x.sum(2); }), HasSubstr("sum: "));
  EXPECT_THAT(message_of<ShapeError>([&] { x.sum({0, -2}); }), HasSubstr("given twice"));
  EXPECT_THAT(message_of<ShapeError>([&] {
                x.sum({0, 1, 2, 3, 4, 5, 6, 7, 8});
              }),
              HasSubstr("expected at most 8, got 9"));
}

TEST(Var, CorrectsByOneUnlessTold) {
  const Tensor x = leaf({1, 2, 3, 4});
  const Tensor y = var(x);
  EXPECT_NEAR(y.item(), 5.0 / 3, 1e-15);
  EXPECT_TRUE(near(grad(y, {x})[0], f64({-1, -1.0 / 3, 1.0 / 3, 1}), 1e-15));  // 2 (x - 2.5) / 3
  EXPECT_EQ(var(x, {}, KeepDim::no, 0).item(), 1.25);
  EXPECT_EQ(var(x, {}, KeepDim::no, 2).item(), 2.5);
  const Tensor rows = f64({1, 0, 0, 0, 1, 2, 3, 4}, {2, 4});
  EXPECT_TRUE(near(rows.var(-1, KeepDim::yes, 0), f64({0.1875, 1.25}, {2, 1}), 1e-16));
  EXPECT_TRUE(near(rows.var({0, 1}), f64({127.0 / 56}, {}), 1e-15));
}

TEST(Var, OfTooFewElements) {
  const Tensor one = leaf({7});
  EXPECT_TRUE(std::isnan(var(one).item()));
  EXPECT_TRUE(std::isnan(grad(var(one), {one})[0].item()));
  EXPECT_EQ(var(one, {}, KeepDim::no, 0).item(), 0);
  EXPECT_EQ(var(leaf({1, 2}), {}, KeepDim::no, 3).item(), kInf) << "0.5 / max(0, -1)";
  EXPECT_TRUE(near(var(zeros({0, 2}), 0), f64({kNan, kNan}), 0));
  EXPECT_EQ(var(zeros({2, 0}), 0).shape(), Shape{0});
  EXPECT_TRUE(std::isnan(var(full({}, 3), -1).item()));
  EXPECT_TRUE(std::isnan(var(f64({1, kNan, 2})).item()));
}

/// The mean square less the squared mean would be noise, or below 0.
TEST(Var, KeepsItsDigitsFarFromZero) {
  for (const double at : {1234.0, 0.1, 16777215.0}) {
    EXPECT_EQ(var(full({256}, at)).item(), 0) << at;
    EXPECT_NEAR(var(full({3}, at, DType::f64)).item(), 0, 1e-33) << at;
  }
  EXPECT_NEAR(var(f64({1e9 + 1, 1e9 + 2, 1e9 + 3, 1e9 + 4})).item(), 5.0 / 3, 1e-15);
  const Tensor far = tensor({8000001, 8000002, 8000003, 8000004}).requires_grad_();
  EXPECT_NEAR(var(far).item(), 5.0 / 3, 1e-7);
  EXPECT_TRUE(near(grad(var(far), {far})[0], f64({-1, -1.0 / 3, 1.0 / 3, 1}), 1e-7));
}

TEST(Logsumexp, AgainstItsFormula) {
  const Tensor x = leaf({0.5, -1.25, 2});
  const Tensor y = logsumexp(x, 0);
  EXPECT_NEAR(y.item(), 2.2326219831020327, 1e-15);
  EXPECT_TRUE(near(grad(y, {x})[0],
                   f64({0.17682018210744428, 0.030726740326436432, 0.79245307756611929}), 1e-15));
  const Tensor m = f64({1, 2, 3, 4, 5, 6}, {2, 3});
  EXPECT_EQ(m.logsumexp({0, -1}, KeepDim::yes).shape(), (Shape{1, 1}));
  EXPECT_NEAR(m.logsumexp({0, 1}).item(), std::log(sum(exp(m)).item()), 1e-15);
  EXPECT_TRUE(near(m.logsumexp(0), log(sum(exp(m), 0)), 1e-15));
}

TEST(Logsumexp, OfFarValues) {
  const Tensor x = leaf({1000, 999});
  EXPECT_NEAR(logsumexp(x, 0).item(), 1000.3132616875182, 1e-12);
  EXPECT_NEAR(logsumexp(-x, 0).item(), -998.6867383124818, 1e-12);
  // As softmax, not as exp(x - y), whose y has lost what tells it from x in f32.
  const Tensor far = tensor({100000, 99999}).requires_grad_();
  EXPECT_TRUE(near(grad(logsumexp(far, 0), {far})[0],
                   f64({0.73105857863000488, 0.26894142136999512}), 1e-7));
  // The cross-entropy of class 2 for logits at which softmax underflows.
  EXPECT_NEAR((logsumexp(f64({10, 0, -100}), 0) + 100).item(), 110.0000454, 1e-7);
  EXPECT_NEAR(logsumexp(zeros({50257}), 0).item(), 10.82490512, 1e-6);
}

TEST(Logsumexp, OfInfinitiesAndNothing) {
  for (Index n = 1; n <= 70; ++n) {
    EXPECT_EQ(logsumexp(full({n}, -kInf), 0).item(), -kInf) << n;
  }
  const Tensor none = leaf({-kInf, -kInf});
  EXPECT_TRUE(near(grad(logsumexp(none, 0), {none})[0], f64({kNan, kNan}), 0)) << "as softmax";
  const Tensor some = leaf({-kInf, 0, 0});
  EXPECT_NEAR(logsumexp(some, 0).item(), 0.69314718055994531, 1e-15);
  EXPECT_TRUE(near(grad(logsumexp(some, 0), {some})[0], f64({0, 0.5, 0.5}), 0));
  EXPECT_EQ(logsumexp(f64({kInf, 1}), 0).item(), kInf);
  EXPECT_EQ(logsumexp(f64({kInf, -kInf}), 0).item(), kInf);
  EXPECT_TRUE(std::isnan(logsumexp(f64({kNan, kInf}), 0).item()));
  EXPECT_TRUE(near(logsumexp(zeros({2, 0}), 1), f64({-kInf, -kInf}), 0));
  EXPECT_EQ(logsumexp(full({}, 3), -1).item(), 3);
}

TEST(Masks, AreCountedAndShared) {
  const Tensor m = mask({1, 0, 1, 1, 1, 1}, {2, 3});
  EXPECT_EQ(m.sum().dtype(), DType::i64);
  EXPECT_EQ(m.sum().item(), 5);
  EXPECT_TRUE(near(m.sum(0), f64({2, 1, 2}), 0));
  EXPECT_TRUE(near(m.sum(-1, KeepDim::yes), f64({2, 3}, {2, 1}), 0));
  EXPECT_EQ(m.mean().dtype(), DType::f64);
  EXPECT_EQ(m.mean().item(), 5.0 / 6);
  EXPECT_TRUE(near(m.mean(1), f64({2.0 / 3, 1}), 0));
  EXPECT_TRUE(std::isnan(mask({}, {0}).mean().item()));
  EXPECT_EQ(mask({}, {0}).sum().item(), 0);
  const Tensor predicted = tensor({3, 1, 2, 2}, DType::i64),
               target = tensor({3, 0, 2, 2}, DType::i64);
  EXPECT_EQ(mean(eq(predicted, target)).item(), 0.75);
  EXPECT_FALSE(mean(gt(leaf({1}), leaf({0}))).requires_grad());
}

TEST(Masks, AnyAndAll) {
  const Tensor m = mask({1, 0, 0, 0, 1, 1}, {3, 2});
  EXPECT_TRUE(near(m.any(-1), f64({1, 0, 1}), 0));
  EXPECT_TRUE(near(m.all(-1, KeepDim::yes), f64({0, 0, 1}, {3, 1}), 0));
  EXPECT_TRUE(near(any(m, 0), f64({1, 1}), 0));
  EXPECT_EQ(any(m).dtype(), DType::b8);
  EXPECT_EQ(any(m).item(), 1);
  EXPECT_EQ(all(m).item(), 0);
  EXPECT_EQ(all(m, {0, 1}).item(), 0);
  EXPECT_TRUE(near(any(mask({}, {2, 0}), 1), f64({0, 0}), 0));
  EXPECT_TRUE(near(all(mask({}, {2, 0}), 1), f64({1, 1}), 0));
  EXPECT_EQ(all(mask({1}, {}), -1).item(), 1);
}

TEST(Masks, AreCombined) {
  const Tensor a = mask({0, 0, 1, 1}, {4}), b = mask({0, 1, 0, 1}, {4});
  EXPECT_TRUE(near(a & b, f64({0, 0, 0, 1}), 0));
  EXPECT_TRUE(near(a | b, f64({0, 1, 1, 1}), 0));
  EXPECT_TRUE(near(logical_xor(a, b), f64({0, 1, 1, 0}), 0));
  EXPECT_TRUE(near(~a, f64({1, 1, 0, 0}), 0));
  EXPECT_TRUE(near(logical_or(a, mask({1}, {})), f64({1, 1, 1, 1}), 0)) << "broadcasts";
}

}  // namespace
