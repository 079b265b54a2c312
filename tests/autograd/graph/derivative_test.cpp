// There are no second derivatives here, and no sum may quietly go without them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "autograd/derivatives.h"
#include "autograd/graph/record.h"
#include "tests/support/tensors.h"

namespace {

using namespace autograd;
using test::f64;
using test::leaf;
using test::message_of;
using test::near;
using testing::HasSubstr;

/// y + g g with g = dy/dx: the gradient of the second term needs the derivative of g.
TEST(Derivative, DoesNotEnterAGraphSilently) {
  const Tensor x = leaf({2});
  const Tensor y = x * x;
  const Tensor g = grad(y, {x}, Retain::yes)[0];
  const Tensor penalty = g * g;  // of constants alone: no graph yet
  const std::string text = message_of<GraphError>([&] { (void)(y + penalty); });
  EXPECT_THAT(text, HasSubstr("add: "));
  EXPECT_THAT(text, HasSubstr("input 1"));
  EXPECT_THAT(text, HasSubstr("detach()"));
  EXPECT_THROW((void)(x * g), GraphError);
  EXPECT_THROW((void)mse(x, g), GraphError);
  EXPECT_THROW((void)concat({x, g.exp().sum({}).reshape({1})}, 0), GraphError);
  EXPECT_THROW((void)(penalty.to(DType::f32) * leaf({1}).to(DType::f32)), GraphError);
  EXPECT_THROW((void)(g.clone() + x), GraphError);
}

TEST(Derivative, MayEnterDetached) {
  const Tensor x = leaf({3});
  const Tensor y = x * x;
  const Tensor g = grad(y, {x}, Retain::yes)[0];
  EXPECT_EQ(grad(y + g.detach() * x, {x})[0].item(), 12);
  EXPECT_EQ(grad(x * (g * g).detach(), {x})[0].item(), 36);
  Tensor start = x.detach() - g * 0.1;  // a step of descent, and a new graph from where it ends
  start.requires_grad_();
  EXPECT_NEAR(grad(start * start, {start})[0].item(), 4.8, 1e-15);
}

TEST(Derivative, IsWhatBackwardLeavesToo) {
  const Tensor x = leaf({2});
  Tensor h = x * x;
  h.retain_grad();
  Tensor seen;
  h.register_hook([&](const Tensor& g) {
    seen = g;
    return g * 1.0;
  });
  (h * h).backward();
  for (const Tensor& g : {x.grad(), h.grad(), seen}) {
    EXPECT_THROW((void)(x * g), GraphError);
    EXPECT_NO_THROW((void)(x * g.detach()));
  }
}

TEST(Derivative, IsWhatForwardModeGivesToo) {
  const Tensor x = leaf({2}), v = f64({1});
  const auto cube = [](const Tensor& t) { return t * t * t; };
  for (const Tensor& d : {jvp(cube, x, v), hvp(cube, x, v), hessian(cube, x).reshape({1})}) {
    EXPECT_THROW((void)(x * d), GraphError);
    EXPECT_NO_THROW((void)(x * d.detach()));
  }
}

/// What optimizers, clipping and statistics do: constants among themselves, or under NoGrad.
TEST(Derivative, IsAConstantWhereNothingIsRecorded) {
  Tensor x = leaf({2, 3});
  sum(x * x).backward();
  const Tensor g = x.grad();
  EXPECT_TRUE(near(g * 0.5 + 1.0, f64({3, 4}), 0));
  EXPECT_NEAR(norm(g).item(), std::sqrt(52.0), 1e-15);
  {
    const NoGrad guard;
    x.set_data((x - g * 0.25).data());
  }
  EXPECT_TRUE(near(x, f64({1, 1.5}), 0));
  x.set_grad(g * 2.0);
  EXPECT_TRUE(near(x.grad(), f64({8, 12}), 0));
  const Tensor again = grad(sum(x * x * x), {x}, ones({}, DType::f64))[0];
  EXPECT_NO_THROW((x * x).backward(again));  // a seed is no operand
}

/// A mask has no derivative, so one made from a gradient lacks nothing.
TEST(Derivative, MayChooseByAComparison) {
  const Tensor x = leaf({-1, 2});
  const Tensor g = grad(sum(x * x), {x})[0];
  const Tensor zero = zeros({}, DType::f64);
  EXPECT_TRUE(near(where(gt(g, zero), x, zero), f64({0, 2}), 0));
  EXPECT_NO_THROW((void)(x * gt(g, zero).to(DType::f64)));
}

/// Only floats carry gradients, and whoever records a rule for anything else learns it at once.
TEST(Record, RefusesARuleOfWhatCarriesNoGradient) {
  const Tensor x = leaf({1, 2});
  const auto rounded = [](const Tensor& t) -> Tensor {
    return record("floor", t.data().to(DType::i64), {{t, [](const Array& g) { return g; }}});
  };
  EXPECT_THAT(message_of<DTypeError>([&] { (void)rounded(x); }),
              testing::AllOf(HasSubstr("floor: "), HasSubstr("i64")));
  EXPECT_FALSE(rounded(x.detach()).requires_grad());
}

}  // namespace
