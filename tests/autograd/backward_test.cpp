#include "autograd/graph/backward.h"

#include <sys/resource.h>

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

/// Runs f on a thread whose stack is 256 KiB, whatever this process was given.
void on_a_small_stack(void (*f)()) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 256 * 1024);
  pthread_t thread;
  ASSERT_EQ(pthread_create(
                &thread, &attributes,
                [](void* body) -> void* {
                  reinterpret_cast<void (*)()>(body)();
                  return nullptr;
                },
                reinterpret_cast<void*>(f)),
            0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

TEST(Backward, ChainOfAMillionNodesOnASmallStack) {
  const std::int64_t before = live_nodes();
  on_a_small_stack([] {
    const Tensor x = leaf({0});
    Tensor y = x;
    for (int i = 0; i < 1000000; ++i) y = y + 1.0;
    Tensor kept = y * 1.0;
    kept.backward(Retain::yes);
    EXPECT_EQ(y.item(), 1e6);
    EXPECT_EQ(x.grad().item(), 1);
    kept.backward();  // frees while it runs
    EXPECT_EQ(x.grad().item(), 2);
    Tensor never_run = x;
    for (int i = 0; i < 1000000; ++i) never_run = -never_run;
  });
  EXPECT_EQ(live_nodes(), before);
}

TEST(Backward, ChainWhoseClosuresHoldTensorsEndsOnASmallStack) {
  const std::int64_t before = live_nodes();
  on_a_small_stack([] {
    const Tensor x = leaf({0});
    Tensor y = x;
    for (int i = 0; i < 300000; ++i) {
      const Tensor held = y;  // against the rules, and survived
      y = record("holds", y.data(), {{x, [held](const Array& g) { return g; }}});
    }
    for (int i = 0; i < 300000; ++i) {
      const Tensor held = y;
      y = record_joint("holds", y.data(), {x}, [held](const Array& g, const std::vector<bool>&) {
        return std::vector<Array>{g};
      });
    }
  });
  EXPECT_EQ(live_nodes(), before);
}

TEST(Backward, TrainingKeepsTheNodeCountConstant) {
  const std::int64_t before = live_nodes();
  {
    Generator generator(1);
    const Tensor x = randn({4, 3}, DType::f64, generator);
    Tensor w1 = randn({5, 3}, DType::f64, generator).requires_grad_();
    Tensor w2 = randn({1, 5}, DType::f64, generator).requires_grad_();
    const std::int64_t parameters = live_nodes();
    EXPECT_EQ(parameters, before + 2);
    for (int step = 0; step < 10000; ++step) {
      const Tensor loss = mean(linear(tanh(linear(x, w1)), w2).pow(2));
      loss.backward();
      for (Tensor* w : {&w1, &w2}) {
        const Array next = (*w - w->grad() * 0.01).detach().data();
        w->set_data(next);
        w->zero_grad();
      }
      ASSERT_EQ(live_nodes(), parameters + 1) << "the loss alone is still held";
    }
  }
  EXPECT_EQ(live_nodes(), before);
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

TEST(Writing, NeverReachesWhatBackwardSaved) {
  Tensor x = leaf({1, 2});
  const Tensor y = sum(x * x);
  x.write<double>([](std::span<double> v) { v[0] = 100; });
  y.backward();
  EXPECT_TRUE(near(x.grad(), f64({2, 4}), 0));
}

TEST(Writing, AResultWithAHistoryThrows) {
  Tensor x = leaf({0});
  Tensor y = exp(x);
  const std::string text =
      message_of<GraphError>([&] { y.write<double>([](std::span<double> v) { v[0] += 1; }); });
  EXPECT_NE(text.find("exp"), std::string::npos);
  EXPECT_THROW(y.select_(0, 0) += 1.0, GraphError);
  sum(y).backward();
  EXPECT_EQ(x.grad().item(), 1);
}

TEST(Writing, OneSliceInPlace) {
  const Tensor x = f64({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, {2, 3, 2});
  Tensor x2 = x.clone();
  x2.select_(1, 0) += 1.0;  // x2[:, 0, :] += 1
  EXPECT_TRUE(near(x2, f64({2, 3, 3, 4, 5, 6, 8, 9, 9, 10, 11, 12}, {2, 3, 2}), 0));
  EXPECT_EQ(x.at({0, 0, 0}), 1) << "the original keeps its values";
  x2.select_(-1, -1) = 0.0;
  EXPECT_EQ(sum(x2.select(2, 1)).item(), 0);
  x2.select_(0, 1) = f64({1, 2});
  EXPECT_TRUE(near(x2.select(0, 1), f64({1, 2, 1, 2, 1, 2}, {3, 2}), 0));
  EXPECT_THROW(x2.select_(0, 2) += 1.0, ValueError);
}

TEST(Record, DropsRulesOfInputsThatNeedNone) {
  const Array saved = f64({1}).data();
  const Tensor a = leaf({1}), b = f64({1});
  const Tensor y =
      record("op", a.data(),
             {{a, [](const Array& g) { return g; }}, {b, [saved](const Array& g) { return g; }}});
  EXPECT_EQ(y.node()->edges.size(), 1u);
}

TEST(Record, RefusesAGradientOfTheWrongShape) {
  const Tensor x = leaf({1, 2, 3});
  const Tensor y = record("broken", x.data(), {{x, [](const Array&) { return f64({1}).data(); }}});
  const Scope scope("layer");
  const std::string text = message_of<GraphError>([&] { sum(y).backward(); });
  EXPECT_NE(text.find("broken"), std::string::npos) << text;
  EXPECT_NE(text.find("(1,)"), std::string::npos) << text;
  const Tensor z =
      record("broken", x.data(), {{x, [](const Array& g) { return g.to(DType::f32); }}});
  EXPECT_THROW(sum(z).backward(), GraphError);
}

TEST(RecordJoint, ComputesAllGradientsAtOnce) {
  const Tensor a = leaf({2}), b = leaf({3}), c = f64({4});
  const Array x = a.data(), y = b.data(), z = c.data();
  std::vector<bool> asked;
  const Tensor out =
      record_joint("product3", (a * b * c).data(), {a, b, c},
                   [&, x, y, z](const Array& g, const std::vector<bool>& needs) {
                     asked = needs;
                     return std::vector<Array>{(Tensor(g) * Tensor(y) * Tensor(z)).data(),
                                               (Tensor(g) * Tensor(x) * Tensor(z)).data(), Array()};
                   });
  out.backward(Retain::yes);
  EXPECT_EQ(a.grad().item(), 12);
  EXPECT_EQ(b.grad().item(), 8);
  EXPECT_EQ(asked, (std::vector<bool>{true, true, false}));
  (void)grad(out, {b});
  EXPECT_EQ(asked, (std::vector<bool>{false, true, false}));
}

TEST(RequiresGrad, IsForFloatLeaves) {
  EXPECT_THROW(arange(3).requires_grad_(), DTypeError);
  const Tensor x = leaf({1});
  Tensor y = x * 2.0;
  EXPECT_THROW(y.requires_grad_(RequiresGrad::no), GraphError);
  Tensor z = leaf({1});
  z.requires_grad_(RequiresGrad::no);
  EXPECT_FALSE(z.requires_grad());
  EXPECT_THROW((void)Tensor().shape(), GraphError);
}

}  // namespace
