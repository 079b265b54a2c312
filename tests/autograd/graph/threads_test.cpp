// Several threads on shared leaves and shared graphs: sums without a lost part, or an error.

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "tests/support/tensors.h"

namespace {

using namespace autograd;
using test::leaf;
using test::near;

constexpr int kThreads = 4;

template <class F>
void on_threads(F f) {
  std::vector<std::thread> threads;
  std::atomic<int> waiting{kThreads};
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      --waiting;
      while (waiting > 0) std::this_thread::yield();  // all at once
      f(t);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(Threads, LoseNoPartOfTheSumInASharedLeaf) {
  constexpr int kPasses = 50000;
  const Tensor x = leaf({1, 2, 3}), w = leaf({2, 2, 2});
  on_threads([&](int) {
    for (int i = 0; i < kPasses; ++i) sum(x * w).backward();
  });
  const double n = kThreads * kPasses;
  EXPECT_TRUE(near(x.grad(), test::f64({2 * n, 2 * n, 2 * n}), 0));
  EXPECT_TRUE(near(w.grad(), test::f64({1 * n, 2 * n, 3 * n}), 0));
}

TEST(Threads, RunOneKeptGraphTogether) {
  constexpr int kPasses = 50000;
  const Tensor x = leaf({1, 2, 3});
  Tensor square = x * x;
  square.retain_grad();
  const Tensor y = sum(square);
  on_threads([&](int t) {
    for (int i = 0; i < kPasses; ++i) {
      y.backward(Retain::yes);
      if (t == 0) {
        EXPECT_TRUE(near(grad(y, {x}, Retain::yes)[0], test::f64({2, 4, 6}), 0));
      }
    }
  });
  const double n = kThreads * kPasses;
  EXPECT_TRUE(near(x.grad(), test::f64({2 * n, 4 * n, 6 * n}), 0));
  EXPECT_TRUE(near(square.grad(), test::f64({n, n, n}), 0));
}

/// One of them runs it; the others are told that it is gone, and add nothing.
TEST(Threads, AGraphThatIsNotKeptRunsOnce) {
  for (int round = 0; round < 2000; ++round) {
    const Tensor x = leaf({1, 2, 3});
    Tensor y = x;
    for (int i = 0; i < 20; ++i) y = y * 1.0;
    const Tensor loss = sum(y);
    std::atomic<int> ran{0}, refused{0};
    on_threads([&](int t) {
      try {
        if (t % 2 == 0) loss.backward();
        else (void)grad(loss, {x});
        ran += 1;
      } catch (const GraphError&) {
        refused += 1;
      }
    });
    ASSERT_EQ(ran, 1);
    ASSERT_EQ(refused, kThreads - 1);
    const Tensor g = x.grad();
    ASSERT_TRUE(!g.defined() || near(g, test::f64({1, 1, 1}), 0));
  }
}

/// Reading, setting and dropping a gradient beside passes that add to it.
TEST(Threads, SeeAGradientThatIsWhole) {
  Tensor x = full({1000}, 1, DType::f64).requires_grad_();
  std::atomic<int> torn{0};
  on_threads([&](int t) {
    Tensor mine = x;
    for (int i = 0; i < 20000; ++i) {
      if (t < 2) sum(mine * 1.0).backward();
      else if (t == 2) i % 2 ? mine.zero_grad() : mine.set_grad(zeros({1000}, DType::f64));
      else if (const Tensor g = mine.grad(); g.defined()) torn += g.at({0}) != g.at({999});
    }
  });
  EXPECT_EQ(torn, 0);
}

/// A hook may run a pass of its own: waiting for the one it is in would be waiting for itself.
TEST(Threads, AHookMayRunBackward) {
  const Tensor x = leaf({2});
  Tensor y = x * x;
  const Tensor z = leaf({3}), other = z * 5.0;
  y.register_hook([&](const Tensor& g) {
    other.backward();
    return g;
  });
  y.backward();
  EXPECT_EQ(x.grad().item(), 4);
  EXPECT_EQ(z.grad().item(), 5);
}

}  // namespace
