#include "tests/support/tensors.h"

// grad(), hooks, retain_grad and detach.

namespace {

using namespace autograd;
using test::f64;
using test::leaf;
using test::message_of;

TEST(GradFunction, LeavesDotGradAlone) {
  const Tensor x = leaf({2}), w = leaf({5});
  const Tensor h = x * x;  // an intermediate is a target like any other
  const Tensor y = h * w;
  const std::vector<Tensor> grads = grad(y, {h, x});
  EXPECT_EQ(grads[0].item(), 5);
  EXPECT_EQ(grads[1].item(), 20);
  EXPECT_FALSE(x.grad().defined());
  EXPECT_FALSE(w.grad().defined());
  EXPECT_FALSE(grads[0].requires_grad());
}

TEST(GradFunction, VisitsOnlyWhatLeadsToATarget) {
  const Tensor x = leaf({2}), w = leaf({5});
  int visited = 0;
  Tensor side = exp(w);
  side.register_hook([&](const Tensor&) {
    ++visited;
    return Tensor();
  });
  const Tensor y = x * side;
  (void)grad(y, {x});
  EXPECT_EQ(visited, 0);
}

TEST(GradFunction, SaysWhenThereIsNoPath) {
  const Tensor x = leaf({2}), other = leaf({1});
  const Tensor y = x * x;
  EXPECT_NE(message_of<GraphError>([&] {
              (void)grad(y, {x, other}, Retain::yes);
            }).find("input 1"),
            std::string::npos);
  EXPECT_THROW((void)grad(y, {f64({1})}, Retain::yes), GraphError);
}

TEST(Hooks, SeeTheWholeGradientAndMayReplaceIt) {
  Tensor x = leaf({2});
  Tensor h = x * 3.0;
  double seen = 0;
  const Index id = h.register_hook([&](const Tensor& g) {
    seen = g.item();
    return g * 10.0;
  });
  (h * 1.0 + h * 4.0).backward();
  EXPECT_EQ(seen, 5) << "once, with both branches summed";
  EXPECT_EQ(x.grad().item(), 150);
  Tensor z = x * 1.0;
  const Index other = z.register_hook([](const Tensor&) { return Tensor(); });
  z.remove_hook(other);
  (void)id;
  Tensor bad = x * 1.0;
  bad.register_hook([](const Tensor&) { return f64({1, 2}); });
  EXPECT_THROW(bad.backward(), GraphError);
  EXPECT_THROW(f64({1}).register_hook([](const Tensor&) { return Tensor(); }), GraphError);
}

TEST(Hooks, AreRemovedById) {
  Tensor x = leaf({2});
  const Index first = x.register_hook([](const Tensor& g) { return g * 2.0; });
  const Index second = x.register_hook([](const Tensor& g) { return g + 1.0; });
  (x * 1.0).backward();
  EXPECT_EQ(x.grad().item(), 3);
  x.remove_hook(first);
  x.zero_grad();
  (x * 1.0).backward();
  EXPECT_EQ(x.grad().item(), 2);
  x.remove_hook(second);
}

TEST(Hooks, MayRemoveThemselvesAndAddOthers) {
  Tensor x = leaf({2});
  Index once = -1;
  once = x.register_hook([&x, &once](const Tensor& g) {
    x.remove_hook(once);
    for (int i = 0; i < 9; ++i) x.register_hook([](const Tensor&) { return Tensor(); });
    return g * 2.0;
  });
  x.register_hook([](const Tensor& g) { return g + 1.0; });
  (x * 1.0).backward();
  EXPECT_EQ(x.grad().item(), 3);
  (x * 1.0).backward();
  EXPECT_EQ(x.grad().item(), 5) << "2 more: the first hook is gone";
  x.remove_hook(once);
  EXPECT_NE(x.register_hook([](const Tensor&) { return Tensor(); }), once);
}

TEST(GradFunction, KeepsTheRulesItDidNotRun) {
  const Tensor x = leaf({2}), unrelated = leaf({1});
  const Tensor h = x * 3.0;
  const Tensor y = h * h;
  EXPECT_THROW((void)grad(y, {x, unrelated}), GraphError);
  EXPECT_EQ(grad(y, {y})[0].item(), 1);
  const Tensor g = grad(y, {h})[0];
  h.backward(g);
  EXPECT_EQ(x.grad().item(), 36);
}

TEST(RetainGrad, KeepsTheGradientOfAnIntermediate) {
  const Tensor x = leaf({2});
  Tensor h = x * x;
  const Tensor plain = h * 1.0;
  h.retain_grad();
  (plain * 3.0).backward();
  EXPECT_EQ(h.grad().item(), 3);
  EXPECT_FALSE(plain.grad().defined());
}

TEST(Detach, CutsTheHistory) {
  const Tensor x = leaf({3});
  (x * x.detach()).backward();
  EXPECT_EQ(x.grad().item(), 3);
  EXPECT_TRUE(x.detach().data().shares_memory_with(x.data()));
}

TEST(Detach, MakesAStraightThroughEstimator) {
  const Tensor x = leaf({0.3});
  const Tensor rounded = f64({0});
  const Tensor y = tanh(x) + (rounded - tanh(x)).detach();
  y.backward();
  EXPECT_EQ(y.item(), 0);
  EXPECT_NEAR(x.grad().item(), 0.915136962, 1e-9);
}

}  // namespace
