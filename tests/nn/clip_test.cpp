#include "nn/clip.h"

#include <cmath>
#include <limits>

#include "autograd/machine/parallel.h"
#include "tests/nn/check.h"

namespace nn {
namespace {

using autograd::ValueError;
using testing::HasSubstr;
using testing::ThrowsMessage;

Tensor with_grad(const Tensor& grad) {
  Tensor p = autograd::zeros(grad.shape(), grad.dtype());
  p.requires_grad_();
  p.set_grad(grad);
  return p;
}

TEST(ClipGradNorm, ScalesToTheLargestNorm) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    const Tensor p = with_grad(autograd::ones({100}, dtype));
    EXPECT_EQ(clip_grad_norm(std::vector{p}, 1.0), 10.0);
    EXPECT_TRUE(is_close(p.grad(), autograd::full({100}, 0.1 / (1 + 1e-7), dtype), 1e-8));
  }
}

TEST(ClipGradNorm, IsTheNormOfAllTogether) {
  const Tensor a = with_grad(autograd::tensor({3, 0, 0, 0, 0, 0, 0, 0, 0, 0}, DType::f64));
  const Tensor b = with_grad(autograd::tensor({4}, DType::f32));
  Tensor without = autograd::ones({2});
  without.requires_grad_();
  EXPECT_EQ(clip_grad_norm(std::vector{a, without, b}, 5.0), 5.0);
  EXPECT_EQ(a.grad().at({0}), 3.0);  // 5 is not above 5
  EXPECT_EQ(clip_grad_norm(std::vector{a, without, b}, 2.5), 5.0);
  EXPECT_NEAR(a.grad().at({0}), 1.5, 1e-6);
  EXPECT_NEAR(b.grad().at({0}), 2.0, 1e-6);
  EXPECT_FALSE(without.grad().defined());
  EXPECT_EQ(clip_grad_norm({}, 1.0), 0.0);
}

TEST(ClipGradNorm, ANormThatIsNotFiniteChangesNothing) {
  const double inf = std::numeric_limits<double>::infinity();
  for (const double bad : {inf, -inf, std::nan("")}) {
    const Tensor p = with_grad(autograd::tensor({1, bad, 100}, DType::f64));
    const Tensor q = with_grad(autograd::full({50}, 7.0));
    const Tensor before = p.grad();
    EXPECT_FALSE(std::isfinite(clip_grad_norm(std::vector{p, q}, 1.0)));
    EXPECT_TRUE(same_bits(p.grad(), before));
    EXPECT_TRUE(same_bits(q.grad(), autograd::full({50}, 7.0)));
  }
}

TEST(ClipGradNorm, InfinityOnlyMeasures) {
  const Tensor p = with_grad(autograd::full({25}, 1e30));  // the square is no f32
  EXPECT_NEAR(clip_grad_norm(std::vector{p}, std::numeric_limits<double>::infinity()), 5e30, 1e24);
  EXPECT_TRUE(same_bits(p.grad(), autograd::full({25}, 1e30)));
}

TEST(ClipGradNorm, SquaresMayOverflowOrVanish) {
  for (const double size : {1e200, 1e-200, 5e-324}) {
    const Tensor p = with_grad(autograd::full({9}, size, DType::f64));
    const Tensor q = with_grad(autograd::full({16}, size, DType::f64));
    EXPECT_DOUBLE_EQ(clip_grad_norm(std::vector{p, q}, HUGE_VAL), 5 * size);
  }
  const Tensor p = with_grad(autograd::full({4}, -1e200, DType::f64));
  clip_grad_norm(std::vector{p}, 1.0);
  EXPECT_NEAR(p.grad().at({0}), -0.5, 1e-12);
}

TEST(ClipGradNorm, AGradientThatSomebodyHoldsStaysAsItWas) {
  const Tensor held = autograd::ones({9}, DType::f64);
  const Tensor p = with_grad(held);
  clip_grad_norm(std::vector{p}, 0.3);
  EXPECT_EQ(held.at({0}), 1.0);
  EXPECT_NEAR(p.grad().at({0}), 0.1, 1e-6);
  const auto address = [&p] {
    const Tensor grad = p.grad();
    return grad.data().read<double>().data();
  };
  const double* const before = address();
  clip_grad_norm(std::vector{p}, 0.1);
  EXPECT_EQ(address(), before);  // nobody else holds this one
}

TEST(ClipGradNorm, TheNumberOfThreadsChangesNoBit) {
  Generator generator(5);
  const Tensor p = with_grad(autograd::randn({160'000}, DType::f32, generator));
  const double inf = std::numeric_limits<double>::infinity();
  const int before = autograd::num_threads();
  autograd::set_num_threads(1);
  const double serial = clip_grad_norm(std::vector{p}, inf);
  autograd::set_num_threads(4);
  const double parallel = clip_grad_norm(std::vector{p}, inf);
  autograd::set_num_threads(before);
  EXPECT_EQ(serial, parallel);
  EXPECT_NEAR(serial, std::sqrt(static_cast<double>(p.numel())), 3.0);
}

TEST(ClipGradNorm, RefusesALargestNormThatIsNotAbove0) {
  for (const double bad : {0.0, -1.0, std::nan("")}) {
    EXPECT_THAT([&] { clip_grad_norm({}, bad); },
                ThrowsMessage<ValueError>(HasSubstr(fmt::format("got {}", bad))));
  }
}

}  // namespace
}  // namespace nn
