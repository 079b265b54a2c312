// Functions of each element: values and gradients against closed forms (decimal arithmetic of 50
// digits), and at their edges.

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "tests/support/tensors.h"

namespace {

using namespace autograd;
using test::f64;
using test::leaf;
using test::message_of;
using test::near;
using test::values_of;
using testing::HasSubstr;

constexpr double kInf = std::numeric_limits<double>::infinity();
const double kNan = std::nan("");

/// The gradient of sum(f(x)).
template <class F>
Tensor slopes(const Tensor& x, F f) {
  return grad(f(x).sum(), {x})[0];
}

TEST(SinAndCos, AreTheSlopesOfEachOther) {
  const Tensor x = leaf({0.3, 1, -2.5, 10, 100, 0});
  const Tensor sine = f64({0.29552020666133955, 0.8414709848078965, -0.5984721441039565,
                           -0.5440211108893698, -0.5063656411097588, 0});
  const Tensor cosine = f64({0.955336489125606, 0.5403023058681398, -0.8011436155469337,
                             -0.8390715290764524, 0.8623188722876839, 1});
  EXPECT_TRUE(near(sin(x), sine, 1e-15));
  EXPECT_TRUE(near(x.cos(), cosine, 1e-15));
  EXPECT_TRUE(near(slopes(x, [](const Tensor& t) { return t.sin(); }), cosine, 1e-15));
  EXPECT_TRUE(near(slopes(x, [](const Tensor& t) { return cos(t); }), -sine, 1e-15));
  EXPECT_TRUE(near(sin(f64({kInf, kNan})), f64({kNan, kNan}), 0));
  EXPECT_EQ(sin(zeros({0, 3})).shape(), (Shape{0, 3}));
}

TEST(Clamp, PassesTheGradientInTheClosedInterval) {
  const Tensor x = leaf({-3, -1, 0.5, 2, 4, kNan, -kInf, kInf});
  EXPECT_TRUE(near(clamp(x, -1, 2), f64({-1, -1, 0.5, 2, 2, kNan, -1, 2}), 0));
  const auto within = [](const Tensor& t) { return t.clamp(-1, 2); };
  EXPECT_TRUE(near(slopes(x, within), f64({0, 1, 1, 1, 0, 1, 0, 0}), 0)) << "NaN as in relu";
  const auto from_below = [](const Tensor& t) { return t.clamp(-1, kInf); };
  EXPECT_TRUE(near(from_below(x), f64({-1, -1, 0.5, 2, 4, kNan, -1, kInf}), 0));
  EXPECT_TRUE(near(slopes(x, from_below), f64({0, 1, 1, 1, 1, 1, 0, 1}), 0));
  EXPECT_EQ(clamp(tensor({0.05}), 0.1, 1).item(), static_cast<double>(0.1F)) << "f32 stays f32";
  EXPECT_EQ(clamp(zeros({0, 2}), 0, 1).shape(), (Shape{0, 2}));
}

TEST(Clamp, WithCrossedBoundsIsTheUpperOne) {
  const Tensor x = leaf({-3, 0.5, 4});
  const auto crossed = [](const Tensor& t) { return clamp(t, 2, 1); };
  EXPECT_TRUE(near(crossed(x), f64({1, 1, 1}), 0));
  EXPECT_TRUE(near(slopes(x, crossed), f64({0, 0, 0}), 0));
  EXPECT_THAT(message_of<ValueError>([&] { clamp(x, kNan, 1); }),
              HasSubstr("clamp: expected bounds that are numbers, got nan and 1"));
}

TEST(Sign, IsFlat) {
  const Tensor x = leaf({-2.5, -0.0, 0, 3, kInf, -kInf, kNan});
  EXPECT_TRUE(near(sign(x), f64({-1, 0, 0, 1, 1, -1, kNan}), 0));
  const Tensor y = x.sign();
  y.backward(f64({1, 2, 3, 4, kInf, kNan, 5}));
  EXPECT_TRUE(near(x.grad(), f64({0, 0, 0, 0, 0, 0, 0}), 0));
}

TEST(Square, IsXTimesX) {
  const Tensor x = leaf({-3, 0, 1e200, kNan});
  EXPECT_TRUE(near(x.square(), f64({9, 0, kInf, kNan}), 0));
  EXPECT_TRUE(near(slopes(x, square), f64({-6, 0, 2e200, kNan}), 0));
}

TEST(Rsqrt, IsInfiniteAtZero) {
  const Tensor x = leaf({4, 0.25, 0, -1, kInf, kNan});
  EXPECT_TRUE(near(rsqrt(x), f64({0.5, 2, kInf, kNan, 0, kNan}), 0));
  const auto slope = slopes(x, [](const Tensor& t) { return t.rsqrt(); });
  EXPECT_TRUE(near(slope, f64({-0.0625, -4, -kInf, kNan, 0, kNan}), 0));
}

TEST(Softplus, KeepsItsDigitsEverywhere) {
  constexpr double kTable[][3] = {{-100, 3.7200759760208360e-44, 3.7200759760208360e-44},
                                  {-20.5, 1.2501528656053015e-9, 1.2501528648238604e-9},
                                  {-5, 0.0067153484891180686, 0.0066928509242848556},
                                  {-0.5, 0.47407698418010668, 0.37754066879814544},
                                  {0, 0.69314718055994531, 0.5},
                                  {0.5, 0.97407698418010668, 0.62245933120185456},
                                  {5, 5.0067153484891181, 0.99330714907571514},
                                  {20.5, 20.500000001250153, 0.99999999874984714},
                                  {30, 30.000000000000094, 0.99999999999990642},
                                  {1000, 1000, 1}};
  for (const DType dtype : {DType::f32, DType::f64}) {
    const double tolerance = dtype == DType::f32 ? 1e-6 : 1e-14;
    for (const auto& [at, value, slope] : kTable) {
      const Tensor x = full({}, at, dtype).requires_grad_();
      const Tensor y = softplus(x);
      y.backward();
      if (dtype == DType::f64 || value > 1e-37) {  // else denormal in f32
        EXPECT_NEAR(y.item() / value, 1, tolerance) << at << ' ' << name(dtype);
        EXPECT_NEAR(x.grad().item() / slope, 1, tolerance) << at << ' ' << name(dtype);
      }
    }
  }
  const Tensor edge = leaf({-kInf, kInf, kNan});
  EXPECT_TRUE(near(softplus(edge), f64({0, kInf, kNan}), 0));
  EXPECT_TRUE(near(slopes(edge, softplus), f64({0, 1, kNan}), 0));
}

/// softplus(z) - t z: no logarithm of a probability that has rounded to 0 or 1.
TEST(Softplus, MakesTheBinaryCrossEntropyOfFarLogits) {
  const Tensor z = leaf({100, 100, -100}), t = f64({1, 0, 0});
  const Tensor loss = softplus(where(t > 0.5, -z, z));
  EXPECT_NEAR(loss.at({0}) / 3.7200759760208360e-44, 1, 1e-13);
  EXPECT_EQ(loss.at({1}), 100);
  EXPECT_NEAR(loss.at({2}) / 3.7200759760208360e-44, 1, 1e-13);
  EXPECT_TRUE(near(grad(loss.sum(), {z})[0], f64({0, 1, 0}), 1e-15));
}

TEST(Pow, OfANumber) {
  const Tensor x = leaf({3, -1, 0, 0.5});
  const Tensor y = pow(2.0, x);
  EXPECT_TRUE(near(y, f64({8, 0.5, 1, std::sqrt(2.0)}), 1e-15));
  const double ln2 = 0.69314718055994531;
  const auto of_two = [](const Tensor& t) { return pow(2, t); };
  EXPECT_TRUE(near(slopes(x, of_two), f64({8 * ln2, 0.5 * ln2, ln2, std::sqrt(2.0) * ln2}), 1e-15));
  const Tensor n = leaf({2, 0, -1});
  const auto of_zero = [](const Tensor& t) { return pow(0.0, t); };
  EXPECT_TRUE(near(of_zero(n), f64({0, 1, kInf}), 0));
  EXPECT_TRUE(near(slopes(n, of_zero), f64({0, 0, -kInf}), 0)) << "flat for n >= 0";
  EXPECT_TRUE(near(pow(-2.0, f64({3, 0.5})), f64({-8, kNan}), 0));
}

}  // namespace
