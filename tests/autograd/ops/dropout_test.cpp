#include <cmath>

#include "autograd/machine/parallel.h"
#include "tests/support/tensors.h"

namespace {

using namespace autograd;
using test::f64;
using test::leaf;
using test::near;

TEST(Dropout, OfAllGivesZerosAndNoNan) {
  const Tensor x = leaf({1, 2, 3});
  const Tensor y = dropout(x, 1);
  sum(y).backward();
  EXPECT_TRUE(near(y, zeros({3}), 0));
  EXPECT_TRUE(near(x.grad(), zeros({3}), 0));
}

TEST(Dropout, OfNoneIsTheInputAndDrawsNothing) {
  const Tensor x = leaf({1, 2, 3});
  Generator generator(1);
  const Tensor y = dropout(x, 0, generator);
  EXPECT_TRUE(bit_equal(y.data(), x.data()));
  EXPECT_EQ(generator.state().next_stream, 0u);
  y.backward(f64({4, 5, 6}));
  EXPECT_TRUE(near(x.grad(), f64({4, 5, 6}), 0));
}

TEST(Dropout, UsesTheForwardMaskInBackwardEvenAtZeros) {
  Generator generator(3);
  const Tensor x = zeros({1000}, DType::f64).requires_grad_();
  sum(dropout(x, 0.5, generator)).backward();
  int dropped = 0;
  for (const double g : test::values_of(x.grad())) {
    ASSERT_TRUE(g == 0 || g == 2) << g;
    dropped += g == 0;
  }
  EXPECT_NEAR(dropped, 500, 95);
}

TEST(Dropout, ScalesByTheShareItKeeps) {
  Generator generator(4);
  const Tensor x = ones({1000000}).requires_grad_();
  const Tensor y = dropout(x, 0.1, generator);
  sum(y).backward();
  int dropped = 0;
  for (const double v : test::values_of(y)) {
    ASSERT_TRUE(v == 0 || static_cast<float>(v) == 1.1111112f) << v;
    dropped += v == 0;
  }
  EXPECT_NEAR(dropped, 100000, 1800);
  EXPECT_NEAR(mean(y).item(), 1, 0.002);
  EXPECT_TRUE(bit_equal(x.grad().data(), y.data())) << "same mask, same scale";
}

TEST(Dropout, RefusesWhatIsNoProbability) {
  for (const double p : {-0.1, 1.1, std::nan("")}) {
    EXPECT_THROW((void)dropout(f64({1}), p), ValueError) << p;
  }
}

TEST(Dropout, HasTheSameBitsForAnyThreadCount) {
  const int before = num_threads();
  Generator generator(5);
  const Generator::State state = generator.state();
  set_num_threads(1);
  const Tensor once = dropout(ones({1000000}), 0.3, generator);
  for (int threads = 2; threads <= 8; ++threads) {
    set_num_threads(threads);
    generator.set_state(state);
    EXPECT_TRUE(bit_equal(dropout(ones({1000000}), 0.3, generator).data(), once.data()));
  }
  set_num_threads(before);
}

}  // namespace
