// Second derivatives of every line of the op table, and that the check has teeth.

#include "autograd/gradcheck/second_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>

#include "autograd/array/elementwise.h"
#include "autograd/derivatives.h"
#include "autograd/gradcheck/op_cases.h"
#include "autograd/ops.h"

namespace autograd {
namespace {

using Inputs = std::vector<Tensor>;
using testing::HasSubstr;

constexpr int kTrials = 64;

class OpSecondOrder : public testing::TestWithParam<const char*> {};

TEST(SecondOrder, OfEveryOp) {
  for (const GradcheckCase& c : op_cases()) {
    const SecondOrderReport report = check_second_order(c, 1, kTrials);
    EXPECT_TRUE(report.ok) << report.message;
    EXPECT_EQ(report.products, 2 * kTrials) << c.name;
  }
}

SecondOrderReport report_of(const GradcheckFunction& f) {
  return check_second_order({"case",
                             [f](Draw& d) -> Trial {
                               return {{d.normal({2, 3})}, f};
                             }},
                            1, 2);
}

TEST(SecondOrder, PassesASoundFunction) {
  EXPECT_TRUE(report_of([](const Inputs& in) { return in[0].tanh(); }).ok);
}

/// The gradient is right, but the rule holds plain numbers: how they move with x is lost.
TEST(SecondOrder, SeesARuleThatLosesTangents) {
  const auto f = [](const Inputs& in) -> Tensor {
    const Tensor y = in[0].exp();
    const Array slope = y.dtype() == DType::dual ? value_of(y).data() : y.data();
    return record("exp", y.data(), {{in[0], [slope](const Array& g) { return g * slope; }}});
  };
  const SecondOrderReport report = report_of(f);
  EXPECT_FALSE(report.ok);
  EXPECT_GT(report.hvp, 1);
  EXPECT_LT(report.jvp, 1);
  EXPECT_THAT(report.message, HasSubstr("case, trial 0: second derivatives wrong"));
}

/// The value loses its tangent, by a NaN in the tangent, or by half.
TEST(SecondOrder, SeesAValueThatLosesItsTangent) {
  for (const double factor : {0.0, 0.5, std::nan("")}) {
    const auto f = [factor](const Inputs& in) -> Tensor {
      Array y = in[0].data();
      if (y.dtype() == DType::dual) y = dual(value_of(y), tangent_of(y) * factor);
      return record("copy", y, {{in[0], [](const Array& g) { return g; }}});
    };
    const SecondOrderReport report = report_of(f);
    EXPECT_FALSE(report.ok) << factor;
    EXPECT_GT(report.jvp, 1) << factor;
  }
}

TEST(SecondOrder, SeesAHessianThatIsNotSymmetric) {
  const auto f = [](const Inputs& in) -> Tensor {
    const Array x = in[0].data();
    Array y = x * x;
    return record("square", y,
                  {{in[0], [x](const Array& g) {
                      Array slope = x * 2.0;
                      if (slope.dtype() == DType::dual)
                        slope = dual(
                            value_of(slope),
                            expand(Tensor(tangent_of(slope)).select(0, 0), slope.shape()).data());
                      return g * slope;
                    }}});
  };
  EXPECT_GT(report_of(f).symmetry, 1);
}

}  // namespace
}  // namespace autograd
