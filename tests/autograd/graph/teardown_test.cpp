#include <pthread.h>

#include "tests/support/tensors.h"

namespace {

using namespace autograd;
using test::leaf;

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
  });
  EXPECT_EQ(live_nodes(), before);
}

TEST(Backward, ChainOfHooksThatHoldTensorsEndsOnASmallStack) {
  const std::int64_t before = live_nodes();
  on_a_small_stack([] {
    Tensor x = leaf({0});
    for (int i = 0; i < 300000; ++i) {
      Tensor y = x.detach().requires_grad_();
      y.register_hook([x](const Tensor& g) { return g; });
      x = y;
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
        const Array next = (w->detach() - w->grad() * 0.01).data();
        w->set_data(next);
        w->zero_grad();
      }
      ASSERT_EQ(live_nodes(), parameters + 1) << "the loss alone is still held";
    }
  }
  EXPECT_EQ(live_nodes(), before);
}

}  // namespace
