// gradcheck where functions bend: it accepts what lies between the one-sided slopes, and nothing
// else gets through on the pretext of a kink.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "autograd/gradcheck/gradcheck.h"
#include "autograd/gradcheck/slope.h"
#include "autograd/ops.h"
#include "tests/support/tensors.h"

namespace autograd {
namespace {

using Inputs = std::vector<Tensor>;
using test::leaf;
using testing::HasSubstr;

Tensor random_leaf(const Shape& shape) {
  return Tensor(normal(shape, 0, 1, DType::f64, RandomKey{5, 0})).requires_grad_();
}
GradcheckFunction of_first(Tensor (*op)(const Tensor&)) {
  return [op](const Inputs& in) { return op(in[0]); };
}
/// slope * cotangent as the claimed gradient of an elementwise function.
ClaimedGradient slope(double value) {
  return [value](const Inputs&, const Tensor& g) { return Inputs{g * value}; };
}

Slope measure(double (*phi)(double), double analytic) {
  const auto difference = [phi](double t, double s) {
    return Moved{phi(t) - phi(s), std::max(std::abs(phi(t)), std::abs(phi(s)))};
  };
  return measure_slope(difference, analytic, 1e-3, {1e-6, 0});
}

TEST(MeasureSlope, IsAccurateWherePhiIsSmooth) {
  EXPECT_NEAR(measure([](double t) { return std::exp(t); }, 1).numeric.slope, 1, 1e-12);
  EXPECT_NEAR(measure([](double t) { return std::sin(3 * t); }, 3).numeric.slope, 3, 1e-11);
  EXPECT_EQ(measure([](double t) { return std::exp(t); }, 1).kind, SlopeKind::smooth);
}

TEST(MeasureSlope, CallsNoSmoothFunctionAKink) {
  for (const double claimed : {-1.0, 0.0, 0.999, 1.00001, 1.1, 50.0}) {
    for (const auto phi :
         {+[](double t) { return t; }, +[](double t) { return std::exp(t); },
          +[](double t) { return t + 1e4 * t * t; }, +[](double t) { return t - 1e6 * t * t * t; },
          +[](double t) { return t + std::pow(std::abs(t), 1.5); }}) {
      const Slope slope = measure(phi, claimed);
      EXPECT_EQ(slope.kind, SlopeKind::smooth) << claimed;
      EXPECT_GT(std::abs(slope.numeric.slope - claimed), 1e-6) << claimed;
    }
  }
}

TEST(MeasureSlope, CallsRoundingNoKink) {
  // Next to 2^30 the numbers are coarse, and coarser above than below.
  const auto rounded = [](double t) { return 0x1p30 + 1500 * t; };
  EXPECT_EQ(measure(rounded, 2000).kind, SlopeKind::smooth);
}

TEST(MeasureSlope, FindsBothSlopesOfAKink) {
  const auto bent = [](double t) { return (t < 0 ? -2 * t : 3 * t) + t * t; };
  const Slope inside = measure(bent, 1.0);
  EXPECT_EQ(inside.kind, SlopeKind::kink);
  EXPECT_NEAR(inside.left, -2, 1e-6);
  EXPECT_NEAR(inside.right, 3, 1e-6);
  EXPECT_EQ(inside.numeric.slope, 1.0);
  EXPECT_NEAR(measure(bent, 3.5).numeric.slope, 3, 1e-6);
  EXPECT_NEAR(measure(bent, -2.5).numeric.slope, -2, 1e-6);
}

TEST(MeasureSlope, NeverAgreesWithNan) {
  const auto log_at_0 = [](double t) { return std::log(t); };
  EXPECT_TRUE(std::isnan(measure(log_at_0, 0).numeric.slope));
  EXPECT_FALSE((Tolerance{1e-6, 1e-8}).agree(NAN, {1, 0}));
  EXPECT_FALSE((Tolerance{1e-6, 1e-8}).agree(INFINITY, {INFINITY, 0}));
}

TEST(GradcheckKink, ReluAtZeroIsReportedAsAKink) {
  const GradcheckReport report = gradcheck(of_first(relu), {leaf({0, 1, -1})});
  EXPECT_TRUE(report.ok);
  EXPECT_EQ(report.kinks, 1);
  EXPECT_EQ(report.wrong, 0);
  EXPECT_THAT(report.message, HasSubstr("kink within step of input 0 at index 0"));
  EXPECT_THAT(report.message, HasSubstr("lies between the one-sided slopes"));
}

TEST(GradcheckKink, HoldsTheGradientToBothSlopes) {
  const Inputs zero{leaf({0.0})};
  for (const double inside : {0.0, 0.3, 1.0}) {
    EXPECT_TRUE(gradcheck(of_first(relu), zero, slope(inside)).ok) << inside;
  }
  for (const double inside : {-1.0, 0.0, 1.0}) {
    const GradcheckOptions options{.allow_vacuous = true};  // the central difference is 0
    EXPECT_TRUE(gradcheck(of_first(abs), zero, slope(inside), options).ok) << inside;
  }
  for (const double outside : {-0.01, 1.01, 2.0}) {
    const GradcheckReport report = gradcheck(of_first(relu), zero, slope(outside));
    EXPECT_FALSE(report.ok) << outside;
    EXPECT_THAT(report.message, HasSubstr("lies outside the one-sided slopes"));
  }
  for (const double outside : {-1.01, 1.01}) {
    EXPECT_FALSE(gradcheck(of_first(abs), zero, slope(outside)).ok) << outside;
  }
}

TEST(GradcheckKink, TheOpsAreInsideTheirBrackets) {
  EXPECT_TRUE(gradcheck(of_first(abs), {leaf({0, 1})}).ok);
  EXPECT_TRUE(gradcheck(of_first(norm), {leaf({0, 0})}, {.allow_vacuous = true}).ok);
  EXPECT_TRUE(gradcheck([](const Inputs& in) { return in[0].max(); }, {leaf({3, 3, 1, 3})}).ok);
  EXPECT_TRUE(gradcheck([](const Inputs& in) { return in[0].min(); }, {leaf({3, 3, 4, 3})}).ok);
  EXPECT_TRUE(gradcheck([](const Inputs& in) { return maximum(in[0], in[1]); },
                        {leaf({1, 2}), leaf({1, 2})})
                  .ok);
  EXPECT_TRUE(gradcheck(of_first(relu), {zeros({9}, DType::f64).requires_grad_()}).ok);
}

TEST(GradcheckKink, ANearbyKinkIsSeenAtASmallerStep) {
  for (const double x : {5e-4, -2e-4, 3e-5, -4e-6}) {
    const GradcheckReport report = gradcheck(of_first(relu), {leaf({x, 1})});
    EXPECT_TRUE(report.ok) << report.message;
    EXPECT_EQ(report.refined, 1) << x;
    EXPECT_THAT(report.message, HasSubstr("kink within step of input 0 at index 0"));
    EXPECT_THAT(report.message, HasSubstr("agrees at the smaller step"));
    const GradcheckReport wrong = gradcheck(of_first(relu), {leaf({x, 1})}, slope(0.5));
    EXPECT_FALSE(wrong.ok) << x;
  }
}

TEST(GradcheckKink, DirectionsPassNearManyKinks) {
  const GradcheckReport report = gradcheck(of_first(relu), {random_leaf({6000})});
  EXPECT_TRUE(report.ok) << report.message;
}

TEST(GradcheckKink, NoSmoothFunctionHidesBehindOne) {
  const auto steep = [](const Inputs& in) { return (in[0] * 50.0).exp(); };
  const auto claim = [](double factor) -> ClaimedGradient {
    return [factor](const Inputs& in, const Tensor& g) {
      return Inputs{(g * (in[0] * 50.0).exp() * (50.0 * factor)).detach()};
    };
  };
  for (const double x : {-0.02, 0.0, 0.01}) {
    EXPECT_TRUE(gradcheck(steep, {leaf({x})}, claim(1)).ok) << x;
    for (const double factor : {1.0001, 0.99, -1.0}) {
      const GradcheckReport report = gradcheck(steep, {leaf({x})}, claim(factor));
      EXPECT_FALSE(report.ok) << x << " " << factor;
      EXPECT_EQ(report.kinks, 0) << report.message;
    }
  }
}

}  // namespace
}  // namespace autograd
