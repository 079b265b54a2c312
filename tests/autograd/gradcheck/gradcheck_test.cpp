// What gradcheck accepts, refuses and says. Kinks and wrong gradients have files of their own.

#include "autograd/gradcheck/gradcheck.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "autograd/array/elementwise.h"
#include "autograd/ops.h"
#include "tests/support/tensors.h"

namespace autograd {
namespace {

using Inputs = std::vector<Tensor>;
using test::leaf;
using test::message_of;
using testing::HasSubstr;

Tensor random_leaf(const Shape& shape) {
  return Tensor(normal(shape, 0, 1, DType::f64, RandomKey{5, 0})).requires_grad_();
}
GradcheckFunction of_first(Tensor (*op)(const Tensor&)) {
  return [op](const Inputs& in) { return op(in[0]); };
}

// --- which inputs it takes

TEST(Gradcheck, RefusesF32) {
  const Inputs linear_inputs{ones({1, 2}).requires_grad_(), ones({1, 2}).requires_grad_()};
  const auto f = [](const Inputs& in) { return linear(in[0], in[1]); };
  EXPECT_THAT(message_of<DTypeError>([&] { gradcheck(f, linear_inputs); }),
              HasSubstr("expected f64, got input 0 in f32"));
}

TEST(Gradcheck, LinearPassesAtOneInABillion) {
  const Inputs inputs{random_leaf({4, 2}), random_leaf({1, 2}), random_leaf({1})};
  const auto f = [](const Inputs& in) { return linear(in[0], in[1], in[2]); };
  const GradcheckReport report = gradcheck(f, inputs, {.rtol = 1e-9, .atol = 1e-10});
  EXPECT_TRUE(report.ok) << report.message;
  EXPECT_EQ(report.message, "");
  EXPECT_EQ(report.checked, 11);
  EXPECT_LT(report.worst.excess, 1);
}

TEST(Gradcheck, RefusesWhatItCannotCheck) {
  const auto f = of_first(exp);
  EXPECT_THAT(message_of<GraphError>([&] { gradcheck(f, {leaf({1}) * 2.0}); }),
              HasSubstr("expected leaves, got input 0, a result of 'scale'"));
  EXPECT_THAT(message_of<GraphError>([&] { gradcheck(f, {leaf({1}).detach()}); }),
              HasSubstr("none of the 1 inputs requires a gradient"));
  EXPECT_THAT(message_of<DTypeError>([&] {
                gradcheck([](const Inputs& in) { return in[0].to(DType::f32); }, {leaf({1})});
              }),
              HasSubstr("expected f to return f64, got f32"));
  const NoGrad guard;
  EXPECT_THAT(message_of<GraphError>([&] { gradcheck(f, {leaf({1})}); }), HasSubstr("NoGrad"));
}

TEST(Gradcheck, LeavesInputsWithoutGradientAlone) {
  const Tensor weight = random_leaf({3, 2}), index = tensor({2, 0, 2}, DType::i64);
  const Tensor mask = gt(random_leaf({3, 2}), zeros({}, DType::f64)), factor = leaf({2}).detach();
  const auto f = [](const Inputs& in) {
    return masked_fill(embedding(in[0], in[1]), in[2], 1.0) * in[3];
  };
  const GradcheckReport report = gradcheck(f, {weight, index, mask, factor});
  EXPECT_TRUE(report.ok) << report.message;
  EXPECT_EQ(report.checked, 6);
}

TEST(Gradcheck, TakesScalarsAndNothing) {
  EXPECT_EQ(gradcheck(of_first(exp), {random_leaf({})}).checked, 1);
  const GradcheckReport empty = gradcheck(of_first(exp), {random_leaf({0, 3})});
  EXPECT_TRUE(empty.ok) << empty.message;
  EXPECT_EQ(empty.checked, 0);
  const auto to_nothing = [](const Inputs& in) { return in[0].narrow(0, 1, 0); };
  EXPECT_TRUE(gradcheck(to_nothing, {random_leaf({3})}).ok);
}

TEST(Gradcheck, AnInputThatFDoesNotUseHasGradientZero) {
  const auto f = [](const Inputs& in) { return in[1].exp(); };
  const GradcheckReport report = gradcheck(f, {random_leaf({2}), random_leaf({3})});
  EXPECT_TRUE(report.ok) << report.message;
  EXPECT_EQ(report.checked, 5);
}

TEST(Gradcheck, ReachesTensorsThatFHolds) {
  const Tensor x = random_leaf({3});
  EXPECT_TRUE(gradcheck([&](const Inputs&) { return x.exp(); }, {x}).ok);
  EXPECT_TRUE(gradcheck([&](const Inputs& in) { return in[0] * in[1]; }, {x, x}).ok);
  EXPECT_TRUE(gradcheck([&](const Inputs& in) { return in[0]; }, {x}).ok);
}

// --- it leaves no trace

TEST(Gradcheck, RestoresTheSameMemoryAndKeepsGrad) {
  Tensor x = random_leaf({700});
  x.set_grad(ones({700}, DType::f64));
  const Array before = x.data();
  EXPECT_TRUE(gradcheck(of_first(exp), {x}).ok);
  EXPECT_TRUE(x.data().shares_memory_with(before));
  EXPECT_TRUE(bit_equal(x.grad().data(), ones({700}, DType::f64).data()));
}

TEST(Gradcheck, RestoresWhenFThrows) {
  const Tensor x = random_leaf({4});
  const Array before = x.data();
  int calls = 0;
  const auto f = [&](const Inputs& in) {
    if (++calls == 9) fail<ValueError>("f: enough");
    return in[0].exp();
  };
  EXPECT_THROW(gradcheck(f, {x}), ValueError);
  EXPECT_TRUE(x.data().shares_memory_with(before));
}

TEST(Gradcheck, LeavesNoNodes) {
  const std::int64_t before = live_nodes();
  gradcheck(of_first(tanh), {random_leaf({5})});
  EXPECT_EQ(live_nodes(), before);
}

TEST(Gradcheck, RefusesAFunctionThatChangesItsInput) {
  const auto f = [](const Inputs& in) {
    const Tensor y = in[0].exp();
    Tensor x = in[0];
    x.write<double>([](std::span<double> v) { v[1] += 1; });
    return y;
  };
  const GradcheckReport report = gradcheck(f, {leaf({1, 2, 3})});
  EXPECT_FALSE(report.ok);
  EXPECT_THAT(report.message, HasSubstr("f changed input 0"));
}

// --- functions that are not deterministic

TEST(Gradcheck, NamesRandomnessRatherThanTheGradient) {
  for (const Index size : {1, 3, 100}) {
    Generator generator(3);
    const auto f = [&](const Inputs& in) { return dropout(in[0], 0.5, generator); };
    const GradcheckReport report = gradcheck(f, {random_leaf({size})});
    EXPECT_FALSE(report.ok);
    EXPECT_THAT(report.message, HasSubstr("not deterministic")) << size;
  }
}

TEST(Gradcheck, NamesRandomnessThatComesSeldomOrLate) {
  for (const bool late : {false, true}) {
    int calls = 0;
    const auto f = [&](const Inputs& in) {
      ++calls;
      return in[0] * 2.0 + (late ? std::max(0, calls - 4) * 1e-4 : calls == 2 ? 1.0 : 0.0);
    };
    EXPECT_THAT(gradcheck(f, {random_leaf({5})}).message, HasSubstr("not deterministic")) << late;
  }
}

TEST(Gradcheck, DropoutWithAFixedGeneratorPasses) {
  const auto f = [](const Inputs& in) {
    Generator generator(3);
    return dropout(in[0], 0.5, generator);
  };
  const GradcheckReport report = gradcheck(f, {random_leaf({100})});
  EXPECT_TRUE(report.ok) << report.message;
}

TEST(Gradcheck, RefusesABackwardThatDiffersInOneBit) {
  int runs = 0;
  const auto f = [&](const Inputs& in) -> Tensor {
    const Array y = in[0].data() * 2.0;
    return record(
        "jitter", y,
        {{in[0], [&](const Array& g) { return g * (2.0 + (++runs % 2 == 0 ? 4e-16 : 0.0)); }}});
  };
  const GradcheckReport report = gradcheck(f, {leaf({1, 2, 3})});
  EXPECT_FALSE(report.ok);
  EXPECT_THAT(report.message, HasSubstr("backward is not deterministic"));
}

TEST(Gradcheck, RefusesAResultWhoseShapeChanges) {
  int calls = 0;
  const auto f = [&](const Inputs& in) { return in[0].narrow(0, 0, ++calls == 5 ? 1 : 2); };
  EXPECT_THAT(message_of<ShapeError>([&] { gradcheck(f, {random_leaf({3})}); }),
              HasSubstr("the result of f changed from f64 (2,) to f64 (1,)"));
}

// --- vacuous checks

TEST(Gradcheck, FlagsAVacuousCheck) {
  const auto flat = [](const Inputs& in) { return in[0] * 0.0 + 1.0; };
  const GradcheckReport report = gradcheck(flat, {random_leaf({2, 5})});
  EXPECT_FALSE(report.ok);
  EXPECT_EQ(report.verdict, Verdict::undecided);
  EXPECT_THAT(report.message, HasSubstr("vacuous: f is flat in all 10 numbers"));
  EXPECT_TRUE(gradcheck(flat, {random_leaf({2, 5})}, {.allow_vacuous = true}).ok);
}

/// A sum over softmax is 1 but for rounding, and rounding is all that its gradients are made of.
TEST(Gradcheck, LeavesUndecidedWhatIsLostInRounding) {
  const auto f = [](const Inputs& in) { return softmax(in[0], -1).sum(); };
  const GradcheckReport report = gradcheck(f, {random_leaf({2, 5})});
  EXPECT_FALSE(report.ok);
  EXPECT_EQ(report.verdict, Verdict::undecided);
  EXPECT_EQ(report.wrong, 0);
  EXPECT_THAT(report.message, HasSubstr("undecided: "));
  EXPECT_TRUE(gradcheck(f, {random_leaf({2, 5})}, {.allow_vacuous = true}).ok);
  EXPECT_EQ(gradcheck(f, {random_leaf({2, 5})},
                      [](const Inputs& in, const Tensor&) { return Inputs{in[0] * 1e-6}; },
                      {.allow_vacuous = true})
                .verdict,
            Verdict::wrong);
}

// --- small gradients

/// factor times the gradient of f, as the gradient claimed for it.
ClaimedGradient scaled(const GradcheckFunction& f, double factor) {
  return [f, factor](const Inputs& in, const Tensor& cotangent) {
    return Inputs{grad(f(in), {in[0]}, cotangent)[0] * factor};
  };
}

struct Small {
  const char* name;
  GradcheckFunction f;
  Tensor x;
};

std::vector<Small> small_gradients() {
  const auto softmax_last = [](const Inputs& in) { return softmax(in[0], -1); };
  const auto times = [](double factor) -> GradcheckFunction {
    return [factor](const Inputs& in) { return (in[0] * in[0] * factor).sum(); };
  };
  return {{"saturated by 20", softmax_last, leaf({20, 0, 0, 0})},
          {"saturated by 30", softmax_last, leaf({30, 0, 0, 0})},
          {"saturated by 40", softmax_last, leaf({40, 0, 0, 0})},
          {"saturated by 300", softmax_last, leaf({300, 0, 0, 0})},
          {"a saturated row beside another", softmax_last, leaf({1, 2, 3, 40, 0, 0}, {2, 3})},
          {"log of it", [](const Inputs& in) { return log_softmax(in[0], -1); }, leaf({40, 0, 0})},
          {"times 1e-7", times(1e-7), random_leaf({5})},
          {"times 1e-8", times(1e-8), random_leaf({5})},
          {"times 1e-100", times(1e-100), random_leaf({5})},
          {"times 1e100", times(1e100), random_leaf({5})},
          {"sigmoid", of_first(sigmoid), leaf({-25, -20})},
          {"wide", of_first(exp), leaf({20, -20, 0})},
          {"gelu", [](const Inputs& in) { return gelu(in[0], Gelu::tanh); }, leaf({-5, -6})}};
}

TEST(Gradcheck, TellsSmallGradientsFromTwiceThem) {
  for (const auto& [name, f, x] : small_gradients()) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      const GradcheckOptions options{.seed = seed};
      const GradcheckReport right = gradcheck(f, {x}, options);
      EXPECT_TRUE(right.ok) << name << ", seed " << seed << ": " << right.message;
      EXPECT_EQ(right.undecided, 0) << name << ", seed " << seed << ": " << right.message;
      for (const double factor : {2.0, 0.5, 1.1, 0.0}) {
        const GradcheckReport wrong = gradcheck(f, {x}, scaled(f, factor), options);
        EXPECT_EQ(wrong.verdict, Verdict::wrong) << name << ", " << factor << ", seed " << seed;
      }
    }
  }
}

/// What no difference can see: the probability that it moves is a 1 that stays 1.
TEST(Gradcheck, SaysWhereNothingCanBeTold) {
  const auto top = [](const Inputs& in) { return softmax(in[0], -1).narrow(-1, 0, 1); };
  for (const double factor : {1.0, 2.0}) {
    const GradcheckReport report = gradcheck(top, {leaf({50, 0, 0, 0})}, scaled(top, factor));
    EXPECT_EQ(report.verdict, Verdict::undecided) << report.message;
  }
  const auto part = [](const Inputs& in) {
    return concat({in[0].exp(), softmax(in[0], -1).sum({0}, KeepDim::yes)}, 0);
  };
  EXPECT_TRUE(gradcheck(part, {leaf({1, 2})}).ok);
}

// --- accuracy and sampling

TEST(Gradcheck, CopesWithSteepAndLargeArguments) {
  EXPECT_TRUE(gradcheck(of_first(log), {leaf({2e-4, 3e-3, 1e6})}).ok);
  EXPECT_TRUE(gradcheck(of_first(exp), {leaf({20, -20, 0})}).ok);
  EXPECT_TRUE(gradcheck([](const Inputs& in) { return 1.0 / in[0]; }, {leaf({5e-3, -8e-3})}).ok);
  EXPECT_FALSE(gradcheck(of_first(sqrt), {leaf({0.0})}).ok);  // no finite slope there
}

TEST(Gradcheck, SamplesAboveTheLimit) {
  EXPECT_EQ(gradcheck(of_first(exp), {random_leaf({512})}).checked, 512);
  const Index sampled = gradcheck(of_first(exp), {random_leaf({513})}).checked;
  EXPECT_GE(sampled, 1 + 16 + 4);
  EXPECT_LE(sampled, 32 + 1 + 16 + 4);
  EXPECT_GE(gradcheck(of_first(exp), {random_leaf({100000})}).checked, 32 + 1 + 16 + 4 - 2);
}

TEST(Gradcheck, LeavesOneInputBeforeTheNext) {
  const auto f = [](const Inputs& in) { return in[0] * in[1]; };
  const GradcheckReport report = gradcheck(f, {random_leaf({600}), random_leaf({2, 600})});
  EXPECT_TRUE(report.ok) << report.message;
}

TEST(Gradcheck, TheSeedDecidesTheCotangent) {
  const auto worst = [](std::uint64_t seed) {
    return gradcheck(of_first(exp), Inputs{leaf({0.5})}, GradcheckOptions{.seed = seed})
        .worst.analytic;
  };
  EXPECT_EQ(worst(1), worst(1));
  EXPECT_NE(worst(1), worst(2));
}

TEST(Gradcheck, SaysWhatIsWrongAndWhere) {
  const auto f = [](const Inputs& in) { return in[0] * in[1]; };
  const auto claimed = [](const Inputs& in, const Tensor& g) {
    Tensor second = (g * in[0]).detach();
    second.write<double>([](std::span<double> v) { v[4] *= 2; });
    return Inputs{(g * in[1]).detach(), second};
  };
  const GradcheckReport report = gradcheck(f, {random_leaf({2, 3}), random_leaf({2, 3})}, claimed);
  EXPECT_FALSE(report.ok);
  EXPECT_EQ(report.wrong, 1);
  EXPECT_EQ(report.worst.input, 1);
  EXPECT_EQ(report.worst.index, 4);
  EXPECT_NEAR(report.worst.analytic, 2 * report.worst.numeric, 1e-9);
  EXPECT_NEAR(report.worst.rel_error, 0.5, 1e-9);
  EXPECT_THAT(report.message,
              HasSubstr("mul: gradient of input 1 wrong at index 4 = (1, 1) of (2, 3)"));
  EXPECT_THAT(report.message, HasSubstr("1 of 12 numbers wrong"));
}

/// 1e-9 beside 0 is no error of 100 %: atol forgives it. Beside 1 or more it counts in full.
TEST(Gradcheck, ARelativeErrorOfNearlyNothingIsSmall) {
  const auto flat = [](const Inputs& in) { return in[0] * 0.0; };
  const auto off = [](const Inputs&, const Tensor& g) {
    return Inputs{test::f64({1e-9}) + g * 0.0};
  };
  const GradcheckReport report =
      gradcheck(flat, {leaf({1})}, off, {.atol = 1e-8, .allow_vacuous = true});
  EXPECT_TRUE(report.ok) << report.message;
  EXPECT_NEAR(report.worst.rel_error, 1e-7, 1e-15) << "1e-9 / (atol / rtol)";
  EXPECT_FALSE(gradcheck(flat, {leaf({1})}, off, {.allow_vacuous = true}).ok) << "without atol";
  EXPECT_NEAR(report.worst.excess, 0.1, 1e-9);
  const GradcheckReport exact =
      gradcheck(flat, {leaf({1})}, off, {.rtol = 0, .atol = 1e-8, .allow_vacuous = true});
  EXPECT_EQ(exact.worst.rel_error, 1) << "no floor without rtol";
}

TEST(Gradcheck, CountsTheClaims) {
  const auto none = [](const Inputs&, const Tensor&) { return Inputs{}; };
  EXPECT_THAT(gradcheck(of_first(exp), {leaf({1})}, none).message,
              HasSubstr("expected 1 gradients, one per input, got 0"));
}

TEST(Gradcheck, RefusesTolerancesThatAcceptEverything) {
  const Tensor x = tensor({1.0, 2.0}, DType::f64).requires_grad_();
  const GradcheckFunction f = [](const std::vector<Tensor>& in) { return in[0] * 2.0; };
  for (const double bad : {std::nan(""), -1.0, std::numeric_limits<double>::infinity()}) {
    GradcheckOptions options;
    options.rtol = bad;
    EXPECT_THROW((void)gradcheck(f, {x}, options), ValueError) << bad;
    options = {};
    options.step = bad;
    EXPECT_THROW((void)gradcheck(f, {x}, options), ValueError) << bad;
  }
}

TEST(Gradcheck, DoesNotTakeAJumpForAKink) {
  const Tensor x = tensor({0.0}, DType::f64).requires_grad_();
  const GradcheckFunction jump = [](const std::vector<Tensor>& in) {
    return where(gt(in[0], zeros({1}, DType::f64)), in[0] + 1.0, in[0]);
  };
  for (const double slope : {-1000.0, 1000.0}) {
    const ClaimedGradient wrong = [slope](const std::vector<Tensor>&, const Tensor& c) {
      return std::vector<Tensor>{c * slope};
    };
    EXPECT_FALSE(gradcheck(jump, {x}, wrong).ok) << slope;
  }
}

}  // namespace
}  // namespace autograd
