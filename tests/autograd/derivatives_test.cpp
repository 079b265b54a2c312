#include "autograd/derivatives.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "autograd/machine/parallel.h"
#include "autograd/ops.h"
#include "tests/support/tensors.h"

namespace autograd {
namespace {

using test::f64;
using test::leaf;
using test::message_of;
using testing::HasSubstr;

/// a^2 b + 2 b^3
Tensor polynomial(const Tensor& x) {
  const Tensor a = x.select(0, 0), b = x.select(0, 1);
  return a * a * b + b * b * b * 2.0;
}

TEST(Derivatives, OfAPolynomialByHand) {
  const Tensor x = f64({3, -2}), v = f64({0.5, 4});
  // gradient (2 a b, a^2 + 6 b^2), Hessian ((2 b, 2 a), (2 a, 12 b))
  EXPECT_EQ(jvp(polynomial, x, v).item(), -12 * 0.5 + 33 * 4);
  EXPECT_TRUE(test::near(hvp(polynomial, x, v), f64({-4 * 0.5 + 6 * 4, 6 * 0.5 - 24 * 4}), 0));
  EXPECT_TRUE(test::near(hessian(polynomial, x), f64({-4, 6, 6, -24}, {2, 2}), 0));
}

/// The Hessian of x^T A x / 2 with a symmetric A is A, also where the data beside x is f64.
TEST(Derivatives, OfAQuadraticFormAreItsMatrix) {
  const Tensor half = randn({6, 6}, DType::f64);
  const Tensor a = half + half.transpose(0, 1);
  const auto f = [&](const Tensor& x) { return (x * matmul(a, x)).sum() * 0.5; };
  const Tensor x = randn({6}, DType::f64), v = randn({6}, DType::f64);
  EXPECT_TRUE(test::near(hessian(f, x), a, 1e-13));
  EXPECT_TRUE(test::near(hvp(f, x, v), matmul(a, v), 1e-13));
}

/// Newton's method on a convex function ends after a few steps: the second derivative is exact.
TEST(Derivatives, NewtonStepsConvergeQuadratically) {
  const auto f = [](const Tensor& x) { return (x.exp() - x * 2.0).sum(); };  // least at ln 2
  Tensor x = f64({0.1, 1.3, 2.0});
  for (int i = 0; i < 7; ++i) {
    const Tensor at = x.detach().requires_grad_();
    x = x - grad(f(at), {at})[0] / hvp(f, x, ones({3}, DType::f64));
  }
  EXPECT_TRUE(test::near(x, full({3}, std::log(2.0), DType::f64), 1e-15));
}

TEST(Derivatives, JvpIsTheJacobianTimesV) {
  const Tensor x = f64({0.2, -1, 0.7}), v = f64({1, 2, -3});
  const Tensor p = softmax(x, 0);
  const Tensor want = p * (v - (p * v).sum());
  EXPECT_TRUE(test::near(jvp([](const Tensor& t) { return softmax(t, 0); }, x, v), want, 1e-15));
}

/// Where backward shares a gradient among equals, forward takes the mean of their tangents.
TEST(Derivatives, AgreeWithBackwardAtTies) {
  const Tensor x = f64({2, 5, 5, 1, 5, 0}, {2, 3}), v = f64({1, 2, 4, 8, 16, 32}, {2, 3});
  const auto agree = [&](const Function& f) {
    const Tensor at = x.detach().requires_grad_();
    EXPECT_EQ(jvp(f, x, v).item(), (grad(f(at), {at})[0] * v).sum().item());
  };
  agree([](const Tensor& t) { return t.max(); });
  agree([](const Tensor& t) { return (t * -1.0).min(); });
  agree([](const Tensor& t) { return t.max({0}).sum(); });
  agree([](const Tensor& t) { return maximum(t, full({}, 5, DType::f64)).sum(); });
  agree([](const Tensor& t) { return minimum(t.select(0, 0), t.select(0, 1)).sum(); });
  agree([](const Tensor& t) { return (t - 5.0).abs().sum() + (t - 5.0).relu().sum(); });
}

TEST(Derivatives, OfWhatAClosureReads) {
  Tensor w = leaf({1, 2, 3, 4}, {2, 2}), b = leaf({0.5, -0.5});
  const Tensor data = randn({5, 2}, DType::f64), target = randn({5, 2}, DType::f64);
  const auto loss = [&] { return mse(tanh(linear(data, w, b)), target); };
  loss().backward();
  const Tensor grad_before = w.grad();
  const std::vector<Tensor> xs = {w, b};
  const std::vector<Tensor> v = {randn({2, 2}, DType::f64), randn({2}, DType::f64)};
  const std::vector<Tensor> hv = hvp(loss, xs, v);

  // The same through the Hessian as a whole.
  const Tensor h = hessian(loss, xs);
  EXPECT_EQ(h.shape(), (Shape{6, 6}));
  const Tensor flat = matmul(h, concat({v[0].reshape({4}), v[1]}, 0));
  EXPECT_TRUE(test::near(concat({hv[0].reshape({4}), hv[1]}, 0), flat, 1e-13));
  EXPECT_TRUE(test::near(h, h.transpose(0, 1), 1e-14));

  // Nothing has changed.
  EXPECT_EQ(w.dtype(), DType::f64);
  EXPECT_TRUE(w.requires_grad() && w.is_leaf());
  EXPECT_TRUE(bit_equal(w.grad().data(), grad_before.data()));
  EXPECT_TRUE(bit_equal(gradient(loss, xs)[0].data(), grad_before.data()));
}

TEST(Derivatives, PutTheLeavesBackWhenFThrows) {
  Tensor x = leaf({1, 2});
  const Tensor v = f64({1, 0});
  const auto bad = [&]() -> Tensor { return x.reshape({3}); };
  EXPECT_THROW(hvp(bad, {x}, {v}), ShapeError);
  EXPECT_THROW(jvp(bad, {x}, {v}), ShapeError);
  EXPECT_EQ(x.dtype(), DType::f64);
  EXPECT_THAT(message_of<DTypeError>([&] {
                hvp([&] { return x.sum(); }, {x, x}, {v, v});
              }),
              HasSubstr("hvp: expected f64, got input 1 in dual"));
  EXPECT_EQ(x.dtype(), DType::f64);
  EXPECT_EQ(x.sum().item(), 3);
}

TEST(Derivatives, AreZeroWhereFDoesNotDependOnX) {
  Tensor x = leaf({1, 2}), unused = leaf({3});
  const auto f = [&] { return x.pow(3).sum(); };
  const std::vector<Tensor> hv = hvp(f, {x, unused}, {f64({1, 1}), f64({1})});
  EXPECT_TRUE(test::near(hv[0], f64({6, 12}), 0));
  EXPECT_TRUE(test::near(hv[1], f64({0}), 0));
  EXPECT_EQ(jvp([&] { return unused.sum(); }, {x}, {f64({1, 1})}).item(), 0);
}

TEST(Derivatives, SayWhatTheyTake) {
  const Tensor x = leaf({1, 2}), v = f64({1, 1});
  const auto f = [](const Tensor& t) { return t.exp(); };
  EXPECT_THAT(message_of<GraphError>([&] { hvp(f, x, v); }), HasSubstr("tensor of one element"));
  EXPECT_THAT(message_of<ShapeError>([&] { jvp(f, x, f64({1})); }),
              HasSubstr("jvp: expected a direction of shape (2,) for input 0, got (1,)"));
  EXPECT_THAT(message_of<DTypeError>([&] {
                jvp(f, tensor({1, 2}), v);
              }),
              HasSubstr("jvp: expected f64, got input 0 in f32"));
  EXPECT_THAT(message_of<DTypeError>([&] {
                jvp(f, x, tensor({1, 2}));
              }),
              HasSubstr("a direction of f64, got f32"));
  EXPECT_THAT(message_of<ValueError>([&] { hvp([&] { return x.sum(); }, {x}, {}); }),
              HasSubstr("hvp: expected 1 directions, one for each input, got 0"));
  const Tensor made = x * 2.0;
  EXPECT_THAT(message_of<GraphError>([&] { hvp([&] { return made.sum(); }, {made}, {v}); }),
              HasSubstr("hvp: expected leaves, got input 0, a result of 'scale'"));
  const NoGrad no_grad;
  EXPECT_THAT(message_of<GraphError>([&] { hvp(f, x, v); }), HasSubstr("gradients are off"));
}

/// Third derivatives would need dual numbers of dual numbers.
TEST(Derivatives, DoNotNest) {
  const Tensor x = f64({1, 2}), v = f64({1, 1});
  const auto inner = [](const Tensor& t) { return t.pow(3).sum(); };
  EXPECT_THAT(
      message_of<DTypeError>([&] { hvp([&](const Tensor& t) { return jvp(inner, t, v); }, x, v); }),
      HasSubstr("jvp: expected f64, got input 0 in dual"));
}

TEST(DualTensor, NeverComesIntoF64ByItself) {
  const Tensor x = dual(f64({1, 2}), f64({3, -4}));
  EXPECT_THAT(message_of<DTypeError>([&] { x.select(0, 1).item(); }),
              HasSubstr("item: tensor(2 + -4 e, shape=(), dtype=dual"));
  EXPECT_THROW(x.at({0}), DTypeError);
  EXPECT_THROW(x.to(DType::f64), DTypeError);
  EXPECT_THAT(to_string(x), HasSubstr("[ 1 + 3 e, 2 + -4 e], shape=(2,), dtype=dual"));
  EXPECT_TRUE(test::near(value_of(x), f64({1, 2}), 0));
  EXPECT_TRUE(test::near(tangent_of(x), f64({3, -4}), 0));
  EXPECT_TRUE(test::near(tangent_of(f64({1, 2})), f64({0, 0}), 0));

  // A leaf of f64 beside dual numbers gets no dual gradient either.
  Tensor w = leaf({5, 6});
  EXPECT_THAT(
      message_of<GraphError>([&] { (w * x).sum().backward(dual(f64({1}, {}), f64({0}, {}))); }),
      HasSubstr("the gradient of input 0 is dual, the input f64"));
  EXPECT_THROW(w.set_data(x.data()), DTypeError);
}

/// What allclose and select_ do with both parts.
TEST(DualTensor, IsComparedAndWrittenWhole) {
  Tensor x = dual(f64({1, 2}), f64({3, -4}));
  EXPECT_TRUE(allclose(x, x.clone()));
  EXPECT_FALSE(allclose(x, dual(f64({1, 2}), f64({3, -4.1}))));
  EXPECT_FALSE(allclose(x, dual(f64({1, 2.1}), f64({3, -4}))));
  x.select_(0, 0) *= 2.0;
  x.select_(0, 1) += 1.0;
  EXPECT_TRUE(allclose(x, dual(f64({2, 3}), f64({6, -4}))));
}

TEST(Derivatives, HaveTheSameBitsOnAnyNumberOfThreads) {
  const Tensor x = randn({8, 40}, DType::f64), v = randn({8, 40}, DType::f64);
  const Tensor w = randn({40, 40}, DType::f64);
  const auto f = [&](const Tensor& t) {
    return layer_norm(gelu(matmul(t, w)), Tensor(), Tensor()).softmax(-1).log().sum();
  };
  const SmallPieces small;
  const int before = num_threads();
  set_num_threads(1);
  const Tensor first = hvp(f, x, v);
  for (const int threads : {2, 3, 4}) {
    set_num_threads(threads);
    EXPECT_TRUE(bit_equal(hvp(f, x, v).data(), first.data())) << threads;
  }
  set_num_threads(before);
}

}  // namespace
}  // namespace autograd
