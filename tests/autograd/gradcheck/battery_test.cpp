// The battery has teeth too: each function below breaks one promise that gradcheck alone cannot
// see.

#include "autograd/gradcheck/battery.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "autograd/array/elementwise.h"
#include "autograd/machine/parallel.h"
#include "autograd/ops.h"
#include "tests/support/tensors.h"

namespace autograd {
namespace {

using Inputs = std::vector<Tensor>;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

GradcheckCase one_input(const GradcheckFunction& f) {
  return {"case", [f](Draw& d) -> Trial { return {{d.normal({2, 3})}, f}; }};
}
std::vector<std::string> failures_of(const GradcheckFunction& f) {
  return battery(one_input(f), 1, 0);
}

TEST(Battery, PassesASoundFunction) {
  EXPECT_THAT(failures_of([](const Inputs& in) { return in[0].tanh(); }), IsEmpty());
}

TEST(Battery, SeesAWrongGradient) {
  const auto failures = failures_of([](const Inputs& in) { return in[0] * in[0].detach(); });
  EXPECT_THAT(failures, Contains(AllOf(HasSubstr("case, trial 0, inputs (2, 3)"),
                                       HasSubstr("mul: gradient of input 0 wrong at"))));
}

TEST(Battery, SeesAnF32RuleThatDiffers) {
  const auto f = [](const Inputs& in) {
    return in[0] * (in[0].dtype() == DType::f32 ? 1.001 : 1.0);
  };
  const auto failures = failures_of(f);
  EXPECT_THAT(failures, Contains(HasSubstr("f32 and f64 values differ")));
  EXPECT_THAT(failures, Contains(HasSubstr("f32 and f64 gradients of input 0 differ")));
}

TEST(Battery, SeesAGradientFromNothing) {
  const auto f = [](const Inputs& in) -> Tensor {
    return record("leak", in[0].data(), {{in[0], [](const Array& g) { return g + 1e-12; }}});
  };
  EXPECT_THAT(failures_of(f), Contains(HasSubstr("a zero cotangent gives 1e-12")));
}

TEST(Battery, SeesASecondBackwardThatDiffers) {
  int calls = 0;
  const auto f = [&](const Inputs& in) -> Tensor {
    calls = 0;
    return record("tired", in[0].data(),
                  {{in[0], [&](const Array& g) { return ++calls == 2 ? g * (1 + 1e-9) : g; }}});
  };
  EXPECT_THAT(failures_of(f), Contains(HasSubstr("two backwards do not give twice")));
}

TEST(Battery, SeesOtherValuesUnderNoGrad) {
  const auto f = [](const Inputs& in) {
    return grad_enabled() ? in[0].exp() : in[0].exp() + 1e-12;
  };
  EXPECT_THAT(failures_of(f), Contains(HasSubstr("other values under NoGrad")));
}

TEST(Battery, SeesBitsThatDependOnThreads) {
  const auto f = [](const Inputs& in) { return in[0] * (num_threads() == 3 ? 1 + 1e-15 : 1.0); };
  EXPECT_THAT(failures_of(f), Contains(HasSubstr("other bits on 3 threads")));
}

TEST(Battery, SeesAnInputThatChanges) {
  const auto f = [](const Inputs& in) {
    const Tensor y = in[0].exp();
    Tensor x = in[0];
    x.write<double>([](std::span<double> v) { v[0] = 9; });
    return y;
  };
  // In f32 the write would throw first.
  const GradcheckCase c{"case", [&](Draw& d) -> Trial {
                          return {{d.normal({3})},
                                  d.dtype() == DType::f64
                                      ? GradcheckFunction(f)
                                      : [](const Inputs& in) { return in[0].exp(); }};
                        }};
  EXPECT_THAT(battery(c, 1, 0), Contains(HasSubstr("input 0 changed")));
}

TEST(Battery, SeesASubsetWithAnotherGradient) {
  const GradcheckCase c{"case", [](Draw& d) -> Trial {
                          return {{d.normal({3}), d.normal({3})}, [](const Inputs& in) {
                                    // Right only while both inputs require a gradient.
                                    const bool both =
                                        in[0].requires_grad() && in[1].requires_grad();
                                    return in[0] * (both ? in[1] : in[1].detach() + 1e-9);
                                  }};
                        }};
  const auto failures = battery(c, 1, 0);
  EXPECT_THAT(failures, Contains(HasSubstr("when only inputs {0} require")));
  EXPECT_THAT(failures, Contains(HasSubstr("when only inputs {1} require")));
}

TEST(Battery, ManyInputsAreSubsetsOfOneAndAllButOne) {
  std::set<int> counts;
  const GradcheckCase c{"case", [&](Draw& d) -> Trial {
                          Inputs inputs;
                          for (int i = 0; i < 8; ++i) inputs.push_back(d.normal({2}));
                          return {inputs, [&](const Inputs& in) {
                                    int on = 0;
                                    for (const Tensor& x : in) on += x.requires_grad() ? 1 : 0;
                                    counts.insert(on);
                                    return concat(in, 0);
                                  }};
                        }};
  EXPECT_THAT(battery(c, 1, 0), IsEmpty());
  EXPECT_EQ(counts, (std::set<int>{0, 1, 7, 8}));
}

TEST(Battery, LeavesTheThreadCountAlone) {
  const int before = num_threads();
  failures_of([](const Inputs& in) { return in[0].exp(); });
  EXPECT_EQ(num_threads(), before);
}

TEST(CheckCase, StopsAtTheFirstFailureAndNamesIt) {
  const GradcheckCase c{"sometimes", [](Draw& d) -> Trial {
                          const bool wrong = d.trial() == 2;
                          return {{d.normal({4})}, [wrong](const Inputs& in) {
                                    return in[0] * (wrong ? in[0].detach() : in[0]);
                                  }};
                        }};
  EXPECT_TRUE(check_case(c, 1, 2).ok);
  const GradcheckReport report = check_case(c, 1, 5);
  EXPECT_FALSE(report.ok);
  EXPECT_EQ(report.checked, 12);
  EXPECT_THAT(report.message,
              HasSubstr("sometimes, trial 2, inputs (4,): mul: gradient of input 0"));
}

// --- the drawing of inputs

TEST(Draw, IsAFunctionOfSeedAndTrial) {
  Draw a(1, 2), b(1, 2), c(1, 3), single(1, 2, DType::f32);
  const Tensor x = a.normal({50}), y = b.normal({50}), z = c.normal({50});
  EXPECT_TRUE(bit_equal(x.data(), y.data()));
  EXPECT_FALSE(bit_equal(x.data(), z.data()));
  EXPECT_TRUE(bit_equal(single.normal({50}).data().to(DType::f64), x.data()));
  EXPECT_TRUE(x.requires_grad());
}

TEST(Draw, KeepsItsPromises) {
  for (int trial = 0; trial < 64; ++trial) {
    Draw d(3, trial);
    const Shape shape = d.nonempty_shape(1, 4);
    EXPECT_GE(shape.numel(), 1);
    EXPECT_LE(shape.numel(), d.max_numel());
    for (const double x : test::values_of(d.away_from_zero(shape))) {
      EXPECT_GE(std::abs(x), 0.25);
      EXPECT_LE(std::abs(x), 2.25);
    }
    for (const double x : test::values_of(d.positive(shape))) EXPECT_GE(x, 0.5);
    const std::vector<double> values = test::values_of(d.distinct(shape));
    EXPECT_EQ(std::set<double>(values.begin(), values.end()).size(), values.size());
    for (const double i : test::values_of(d.indices(shape, 3))) {
      EXPECT_TRUE(i == 0 || i == 1 || i == 2) << i;
    }
    const auto pair = d.broadcast_pair();
    EXPECT_LE(broadcast(pair.first, pair.second, "test").numel(), d.max_numel());
    EXPECT_TRUE(broadcasts_to(d.broadcastable_to(shape), shape));
    const int dim = d.dim(shape);
    EXPECT_TRUE(dim >= -shape.rank() && dim < shape.rank());
  }
}

}  // namespace
}  // namespace autograd
