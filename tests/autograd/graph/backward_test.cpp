#include "autograd/graph/backward.h"

#include <chrono>
#include <cmath>
#include <thread>

#include "tests/support/tensors.h"

namespace {

using namespace autograd;
using test::f64;
using test::leaf;
using test::message_of;
using test::near;

TEST(Backward, CountsEveryPathOnce) {
  const Tensor a = leaf({1});
  const Tensor b = a + a, c = b + b;
  c.backward();
  EXPECT_EQ(c.item(), 4);
  EXPECT_EQ(a.grad().item(), 4);
}

TEST(Backward, WaitsForAllConsumers) {
  const Tensor x = leaf({2});
  const Tensor y = 3.0 * x;
  (2.0 * y + 5.0 * y).backward();
  EXPECT_EQ(x.grad().item(), 21);
}

TEST(Backward, AddsWhereOneTensorFeedsBothInputs) {
  Tensor x = leaf({1, 2, 3});
  sum(x * x).backward();
  EXPECT_TRUE(near(x.grad(), f64({2, 4, 6}), 0));
  x.zero_grad();
  sum(x + x).backward();
  EXPECT_TRUE(near(x.grad(), f64({2, 2, 2}), 0));
  Tensor m = leaf({1, 2, 3, 4}, {2, 2});
  sum(matmul(m, m)).backward();
  EXPECT_TRUE(near(m.grad(), f64({7, 11, 9, 13}, {2, 2}), 0));
  m.zero_grad();
  sum(matmul(m, m.transpose(0, 1))).backward();
  EXPECT_TRUE(near(m.grad(), f64({8, 12, 8, 12}, {2, 2}), 0));
}

TEST(Backward, TwiceOverAKeptGraphGivesExactlyTwice) {
  const Tensor a = leaf({3}), b = leaf({2}), d = leaf({1});
  const Tensor c = a + b, e = c * d;
  e.backward(Retain::yes);
  EXPECT_EQ(a.grad().item(), 1);
  EXPECT_EQ(d.grad().item(), 5);
  e.backward(Retain::yes);
  EXPECT_EQ(a.grad().item(), 2);
  EXPECT_EQ(b.grad().item(), 2);
  EXPECT_EQ(d.grad().item(), 10);
}

TEST(Backward, TwiceWithoutRetainSaysSoAndChangesNothing) {
  const Tensor x = leaf({1, 2});
  const Tensor y = sum(exp(x));
  y.backward();
  const Array before = x.grad().data();
  const std::string text = message_of<GraphError>([&] { y.backward(); });
  EXPECT_NE(text.find("Retain::yes"), std::string::npos) << text;
  EXPECT_TRUE(bit_equal(x.grad().data(), before));
}

TEST(Backward, ThroughAnotherGraphsReleasedPartChangesNothing) {
  const Tensor x = leaf({1}), z = leaf({1});
  const Tensor shared = exp(x);
  const Tensor y1 = shared * 2.0, y2 = shared * z;
  y1.backward();
  EXPECT_THROW(y2.backward(), GraphError);
  EXPECT_FALSE(z.grad().defined()) << "a failed pass leaves every leaf as it was";
  EXPECT_NEAR(x.grad().item(), 2 * std::exp(1), 1e-15);
  EXPECT_THROW((void)grad(y2, {x}), GraphError);
}

TEST(Backward, NeedsAScalarOrASeedAndAHistory) {
  Tensor x = leaf({1, 2, 3});
  const Tensor y = x * 2.0;
  EXPECT_NE(message_of<GraphError>([&] { y.backward(); }).find("(3,)"), std::string::npos);
  EXPECT_THROW(y.backward(f64({1, 1})), GraphError);
  EXPECT_THROW(y.backward(ones({3}, DType::f32)), GraphError);
  EXPECT_THROW(f64({1}).backward(), GraphError);
  EXPECT_NE(message_of<GraphError>([&] {
              sum(grad(sum(x * x), {x})[0]).backward();
            }).find("second derivatives"),
            std::string::npos);
  y.backward(f64({1, 1, 1}));
  EXPECT_TRUE(near(x.grad(), f64({2, 2, 2}), 0));
}

TEST(Backward, IsFastOnDiamonds) {
  const Tensor x = leaf({1});
  const auto start = std::chrono::steady_clock::now();
  Tensor y = x;
  for (int i = 0; i < 60; ++i) y = y + y;
  y.backward();
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
  EXPECT_EQ(y.item(), 0x1p60);
  EXPECT_EQ(x.grad().item(), 1152921504606846976.0);
  EXPECT_LT(took.count(), 10);
}

TEST(NoGradGuard, EndsWithAnException) {
  Tensor x = leaf({3});
  try {
    const NoGrad outer;
    { const NoGrad inner; }
    EXPECT_FALSE(grad_enabled());
    std::thread([] { EXPECT_TRUE(grad_enabled()); }).join();
    throw std::runtime_error("out");
  } catch (const std::runtime_error&) {
  }
  EXPECT_TRUE(grad_enabled());
  sum(x * x).backward();
  EXPECT_EQ(x.grad().item(), 6);
}

TEST(NoGradGuard, GivesTheSameBitsAndNoNode) {
  const Tensor x = leaf({1, 2, 3});
  const Tensor with = softmax(x, 0);
  const std::int64_t nodes = live_nodes();
  const NoGrad guard;
  const Tensor without = softmax(x, 0);
  EXPECT_TRUE(bit_equal(with.data(), without.data()));
  EXPECT_FALSE(without.requires_grad());
  EXPECT_EQ(live_nodes(), nodes);
}

}  // namespace
