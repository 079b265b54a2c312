#include "tests/support/tensors.h"

// requires_grad_() on a leaf that graphs and gradients already know.

namespace {

using namespace autograd;
using test::f64;
using test::leaf;

TEST(Freezing, BetweenForwardAndBackwardLosesNothing) {
  Tensor x = leaf({3});
  const Tensor y = x * x;
  x.requires_grad_(RequiresGrad::no);
  EXPECT_FALSE(x.requires_grad());
  y.backward();
  ASSERT_TRUE(x.grad().defined());
  EXPECT_EQ(x.grad().item(), 6);
}

TEST(Freezing, AndThawingLosesNothing) {
  Tensor x = leaf({3});
  const Tensor y = x * x;
  x.requires_grad_(RequiresGrad::no);
  x.requires_grad_();
  y.backward(Retain::yes);
  ASSERT_TRUE(x.grad().defined());
  EXPECT_EQ(x.grad().item(), 6);
  EXPECT_EQ(grad(y, {x})[0].item(), 6);
}

TEST(Freezing, KeepsTheGradientThatIsThere) {
  Tensor x = leaf({3});
  (x * x).backward();
  x.requires_grad_(RequiresGrad::no);
  ASSERT_TRUE(x.grad().defined());
  EXPECT_EQ(x.grad().item(), 6);
  x.set_grad(f64({5}));
  x.requires_grad_();
  (x * 2.0).backward();
  EXPECT_EQ(x.grad().item(), 7) << "the next backward adds to it";
  x.requires_grad_(RequiresGrad::no);
  x.zero_grad();
  EXPECT_FALSE(x.grad().defined());
}

TEST(Freezing, LeavesTheTensorOutOfNewGraphs) {
  Tensor x = leaf({3});
  const Tensor w = leaf({2}), old = x * 10.0;
  x.requires_grad_(RequiresGrad::no);
  EXPECT_TRUE(x.is_leaf());
  EXPECT_FALSE((x * x).requires_grad());
  EXPECT_EQ((x * w).node()->edges.size(), 1u);
  (x * w + old).backward();
  EXPECT_EQ(w.grad().item(), 3);
  EXPECT_EQ(x.grad().item(), 10) << "of what was recorded before, and of nothing else";
}

TEST(Freezing, MakesAConstantOfIt) {
  Tensor x = leaf({3});
  const Tensor y = x * x;
  x.requires_grad_(RequiresGrad::no);
  EXPECT_THROW(x.backward(), GraphError);
  EXPECT_THROW((void)grad(y, {x}), GraphError);
  EXPECT_THROW(x.register_hook([](const Tensor& g) { return g; }), GraphError);
  EXPECT_THROW(x.retain_grad(), GraphError);
  EXPECT_FALSE(x.detach().requires_grad());
}

}  // namespace
