// The tester has teeth: every fault below is a gradient that someone once got wrong, and gradcheck
// has to refuse it. Each comes with its right version, which has to pass.

#include <gtest/gtest.h>

#include <cmath>
#include <ostream>

#include "autograd/gradcheck/gradcheck.h"
#include "autograd/ops.h"
#include "tests/support/tensors.h"

namespace autograd {

enum class Version { right, wrong };

struct Fault {
  std::string name;
  std::function<GradcheckReport(Version)> check;
};
void PrintTo(const Fault& fault, std::ostream* out);
void PrintTo(const Fault& fault, std::ostream* out) { *out << fault.name; }

namespace {

using test::f64;
using test::leaf;
using Inputs = std::vector<Tensor>;
using Function = std::function<Tensor(const Tensor& x)>;
using Backward = std::function<Tensor(const Tensor& g, const Tensor& x, const Tensor& y)>;
using Backward2 = std::function<Inputs(const Tensor& g, const Tensor& a, const Tensor& b)>;

Tensor numbers(const Shape& shape, std::uint64_t stream = 0) {
  return Tensor(normal(shape, 0, 1, DType::f64, {7, stream})).requires_grad_();
}
Tensor positive(const Shape& shape) {
  return Tensor(uniform(shape, 0.5, 2, DType::f64, RandomKey{7, 3})).requires_grad_();
}

/// x with the elements of [begin, end) replaced: an error that few elements show.
Tensor replaced(const Tensor& x, Index begin, Index end, double factor, double term) {
  Tensor copy = x.detach();
  copy.write<double>([&](std::span<double> v) {
    for (Index i = begin; i < end; ++i) v[i] = v[i] * factor + term;
  });
  return copy;
}

/// An op of one input, recorded as ops are, with the rule of the version.
Fault unary(const std::string& name, const Tensor& input, const Function& f, const Backward& right,
            const Backward& wrong) {
  return {name, [=](Version version) {
            const Backward& rule = version == Version::right ? right : wrong;
            const auto op = [&](const Inputs& in) -> Tensor {
              const Tensor x = in[0].detach(), y = f(x);
              return record(
                  "custom", y.data(),
                  {{in[0], [x, y, rule](const Array& g) { return rule(Tensor(g), x, y).data(); }}});
            };
            return gradcheck(op, {input});
          }};
}

/// The same rule with its result spoilt afterwards.
Fault spoilt(const std::string& name, const Tensor& input, const Function& spoil) {
  const Backward right = [](const Tensor& g, const Tensor&, const Tensor& y) { return g * y; };
  const Backward wrong = [=](const Tensor& g, const Tensor&, const Tensor& y) {
    return spoil(g * y);
  };
  return unary(
      name, input, [](const Tensor& x) { return x.exp(); }, right, wrong);
}

/// A function of two inputs, with gradients claimed rather than recorded.
Fault claimed(const std::string& name, const Inputs& inputs,
              const std::function<Tensor(const Tensor&, const Tensor&)>& f, const Backward2& right,
              const Backward2& wrong) {
  return {name, [=](Version version) {
            const Backward2& rule = version == Version::right ? right : wrong;
            return gradcheck([&](const Inputs& in) { return f(in[0], in[1]); }, inputs,
                             [&](const Inputs& in, const Tensor& g) {
                               const NoGrad guard;
                               return rule(g, in[0], in[1]);
                             });
          }};
}

/// Whole functions, differentiated by the engine; the wrong one computes the same values.
Fault composed(const std::string& name, const Tensor& input, const Function& right,
               const Function& wrong) {
  return {name, [=](Version version) {
            return gradcheck(
                [&](const Inputs& in) {
                  return version == Version::right ? right(in[0]) : wrong(in[0]);
                },
                {input});
          }};
}

#define RULE(expression)                                                                    \
  [](const Tensor& g, [[maybe_unused]] const Tensor& x, [[maybe_unused]] const Tensor& y) { \
    return expression;                                                                      \
  }
#define RULE2(first, second)                                                                \
  [](const Tensor& g, [[maybe_unused]] const Tensor& a, [[maybe_unused]] const Tensor& b) { \
    return Inputs{first, second};                                                           \
  }
#define OF_X(expression) [](const Tensor& x) { return expression; }
#define OF_AB(expression) [](const Tensor& a, const Tensor& b) { return expression; }

Tensor gelu_slope_erf(const Tensor& x) {
  const double density = 1 / std::sqrt(2 * std::acos(-1.0));
  return gelu(x) / x + x * (x * x * -0.5).exp() * density;
}
Tensor gelu_slope_tanh(const Tensor& x) {
  const double k = std::sqrt(2 / std::acos(-1.0));
  const Tensor t = ((x + 0.044715 * x.pow(3)) * k).tanh();
  return 0.5 * (1.0 + t) + 0.5 * x * (1.0 - t * t) * k * (1.0 + 3 * 0.044715 * x * x);
}

Tensor scattered(const Tensor& g, Index start, const Shape& shape) {
  Tensor out = zeros(shape, DType::f64);
  out.write<double>([&](std::span<double> v) {
    for (Index i = 0; i < g.numel(); ++i) v[start + i] = g.data().at(i);
  });
  return out;
}

std::vector<Fault> elementwise_faults() {
  return {
      unary("SignOfNeg", numbers({7}), OF_X(-x), RULE(-g), RULE(g)),
      unary("FactorTwo", numbers({7}), OF_X(x * x), RULE(g * x * 2.0), RULE(g * x * 4.0)),
      unary("FactorHalf", numbers({7}), OF_X(x * 3.0), RULE(g * 3.0), RULE(g * 1.5)),
      unary("ExpOfInput", numbers({7}), OF_X(x.exp()), RULE(g * y), RULE(g * x.exp().exp())),
      unary("TanhOfInput", numbers({7}), OF_X(x.tanh()), RULE(g * (1.0 - y * y)),
            RULE(g * (1.0 - x * x))),
      unary("SigmoidOfInput", numbers({7}), OF_X(x.sigmoid()), RULE(g * y * (1.0 - y)),
            RULE(g * x * (1.0 - x))),
      unary("SqrtWithoutTwo", positive({7}), OF_X(x.sqrt()), RULE(g / (y * 2.0)), RULE(g / y)),
      unary("PowKeepsExponent", positive({7}), OF_X(x.pow(3)), RULE(g * x.pow(2) * 3.0),
            RULE(g * x.pow(3) * 3.0)),
      unary("LogOfOutput", positive({7}), OF_X(x.log()), RULE(g / x), RULE(g / y)),
      unary("ReluLetsAllThrough", leaf({-1, 2, -3, 4}), OF_X(x.relu()),
            RULE(where(gt(x, zeros({}, DType::f64)), g, zeros({}, DType::f64))), RULE(g)),
      unary("ReluMasksByGradient", leaf({1, 2, 3, 4, 5, 6, 7, 8}), OF_X(x.relu()), RULE(g),
            RULE(g.relu())),
      unary("TanhDerivativeOfErfGelu", leaf({-2.5, -1.5, -0.5, 0.5, 1.5, 2.5}), OF_X(gelu(x)),
            RULE(g * gelu_slope_erf(x)), RULE(g * gelu_slope_tanh(x))),
      unary("ErfDerivativeOfTanhGelu", leaf({-2.5, -1.5, -0.5, 0.5, 1.5, 2.5}),
            OF_X(gelu(x, Gelu::tanh)), RULE(g * gelu_slope_tanh(x)), RULE(g * gelu_slope_erf(x))),
      unary("DropoutWithoutScale", numbers({8}), OF_X(x * f64({2, 0, 2, 2, 0, 0, 2, 2})),
            RULE(g * f64({2, 0, 2, 2, 0, 0, 2, 2})), RULE(g * f64({1, 0, 1, 1, 0, 0, 1, 1}))),
      spoilt("VectorTailNotWritten", numbers({37}), OF_X(replaced(x, 34, 37, 0, 0))),
      spoilt("LastElementOfMany", numbers({1030}), OF_X(replaced(x, 1029, 1030, 0, 0))),
      spoilt("FirstElementOfMany", numbers({1030}), OF_X(replaced(x, 0, 1, 2, 0))),
      spoilt("OneMiddleElement", numbers({100}), OF_X(replaced(x, 50, 51, -1, 0))),
      spoilt("OneOfTwoThousand", numbers({2000}), OF_X(replaced(x, 777, 778, 2, 0))),
      spoilt("ShiftedByOne", numbers({9}), OF_X(concat({x.narrow(0, 1, 8), x.narrow(0, 0, 1)}, 0))),
      spoilt("Reversed", numbers({2}), OF_X(concat({x.narrow(0, 1, 1), x.narrow(0, 0, 1)}, 0))),
      spoilt("RelativeErrorOfOneInHundredThousand", leaf({1, 2, 3}), OF_X(x * (1 + 1e-5))),
      spoilt("OffsetOfOneMillionth", leaf({-1, 0.2, 0.5}), OF_X(x + 1e-6)),
      spoilt("Nan", numbers({5}), OF_X(replaced(x, 2, 3, NAN, 0))),
      spoilt("Infinity", numbers({5}), OF_X(replaced(x, 2, 3, INFINITY, 0))),
      spoilt("AllZero", numbers({5}), OF_X(x * 0.0)),
      spoilt("WrongShape", numbers({2, 3}), OF_X(x.transpose(0, 1))),
      spoilt("WrongDType", numbers({2, 3}), OF_X(x.to(DType::f32))),
  };
}

std::vector<Fault> reduction_faults() {
  return {
      unary("SoftmaxDiagonalOnly", numbers({3, 4}), OF_X(x.softmax(-1)),
            RULE(y * (g - (g * y).sum({-1}, KeepDim::yes))), RULE(g * y * (1.0 - y))),
      unary("SoftmaxWithoutSum", numbers({3, 4}), OF_X(x.softmax(-1)),
            RULE(y * (g - (g * y).sum({-1}, KeepDim::yes))), RULE(g * y)),
      unary("SoftmaxOverOtherDim", numbers({4, 4}), OF_X(x.softmax(-1)),
            RULE(y * (g - (g * y).sum({1}, KeepDim::yes))),
            RULE(y * (g - (g * y).sum({0}, KeepDim::yes)))),
      unary("LogSoftmaxWithoutSumOfGradients", numbers({3, 4}), OF_X(log_softmax(x, -1)),
            RULE(g - y.exp() * g.sum({-1}, KeepDim::yes)), RULE(g - y.exp() * g)),
      unary("MeanWithoutCount", numbers({3, 4}), OF_X(x.mean()), RULE(expand(g / 12.0, {3, 4})),
            RULE(expand(g, {3, 4}))),
      unary("SumSpreadAlongOtherDim", numbers({4, 4}), OF_X(x.sum({0})),
            RULE(expand(g.unsqueeze(0), {4, 4})), RULE(expand(g.unsqueeze(1), {4, 4}))),
      unary("MaxTieNotShared", leaf({2, 5, 1, 5, 5}), OF_X(x.max()),
            RULE(g * f64({0, 1, 0, 1, 1}) / 3.0), RULE(g * f64({0, 1, 0, 1, 1}))),
      unary("CenteringWithoutMean", numbers({6}), OF_X(x - x.mean()), RULE(g - g.mean()), RULE(g)),
      unary("NormalisationWithoutVarianceTerm", numbers({6}), OF_X(x / norm(x)),
            RULE((g - y * (g * y).sum()) / norm(x)), RULE(g / norm(x))),
  };
}

std::vector<Fault> layout_faults() {
  return {
      unary("TransposeOnlyReshaped", numbers({3, 3}), OF_X(x.transpose(0, 1)),
            RULE(g.transpose(0, 1)), RULE(g)),
      unary("NarrowAtWrongStart", numbers({9}), OF_X(x.narrow(0, 3, 4)), RULE(scattered(g, 3, {9})),
            RULE(scattered(g, 2, {9}))),
      unary("RepeatedIndexOverwritten", numbers({2}),
            OF_X(concat({x.narrow(0, 1, 1), x.narrow(0, 1, 1)}, 0)),
            RULE(scattered(g.sum(), 1, {2})), RULE(scattered(g.narrow(0, 1, 1), 1, {2}))),
      unary("MaskedPositionsLeak", numbers({4}), OF_X(x * f64({1, 0, 1, 0})),
            RULE(g * f64({1, 0, 1, 0})), RULE(g)),
      composed("DetachedFactor", numbers({5}), OF_X(x * x), OF_X(x * x.detach())),
      composed("GraphCut", numbers({5}), OF_X(x.exp()), OF_X(x.detach().exp())),
      composed("OneBranchDetached", numbers({5}), OF_X(x * 6.0 + x.sigmoid()),
               OF_X(x * 6.0 + x.detach().sigmoid())),
  };
}

std::vector<Fault> two_input_faults() {
  const Inputs squares{numbers({4, 4}, 1), numbers({4, 4}, 2)};
  const Inputs row{numbers({3, 4}, 1), numbers({1, 4}, 2)};
  const Inputs pair{numbers({5}, 1), positive({5})};
  const Inputs tied{leaf({1, 2, 5}), leaf({4, 2, 5})};
  const Backward2 product = RULE2(matmul(g, b.transpose(0, 1)), matmul(a.transpose(0, 1), g));
  return {
      claimed("MatmulWithoutTranspose", squares, matmul, product,
              RULE2(matmul(g, b), matmul(a.transpose(0, 1), g))),
      claimed("MatmulFactorsSwapped", squares, matmul, product,
              RULE2(matmul(g, b.transpose(0, 1)), matmul(g, a.transpose(0, 1)))),
      claimed("MatmulGradientTransposed", squares, matmul, product,
              RULE2(matmul(b, g.transpose(0, 1)), matmul(a.transpose(0, 1), g))),
      claimed("BroadcastNotReduced", row, add, RULE2(g, g.sum({0}, KeepDim::yes)), RULE2(g, g)),
      claimed("BroadcastTakesOneRow", row, add, RULE2(g, g.sum({0}, KeepDim::yes)),
              RULE2(g, g.narrow(0, 0, 1))),
      claimed("BroadcastTakesMean", row, add, RULE2(g, g.sum({0}, KeepDim::yes)),
              RULE2(g, g.mean({0}, KeepDim::yes))),
      claimed("GradientOverwritten", pair, OF_AB(a * 2.0 + a * b), RULE2(g * 2.0 + g * b, g * a),
              RULE2(g * b, g * a)),
      claimed("DivisorNotSquared", pair, div, RULE2(g / b, -g * a / (b * b)),
              RULE2(g / b, -g * a / b)),
      claimed("SecondOperandWithoutSign", pair, sub, RULE2(g, -g), RULE2(g, g)),
      claimed("OperandsSwapped", pair, mul, RULE2(g * b, g * a), RULE2(g * a, g * b)),
      claimed("TieOfMaximumNotShared", tied, maximum,
              RULE2(g * f64({0, 0.5, 1 / 3.0}), g * f64({1, 0.5, 2 / 3.0})),
              RULE2(g * f64({0, 1, 1}), g * f64({1, 1, 1}))),
  };
}

class Teeth : public testing::TestWithParam<Fault> {};

TEST_P(Teeth, RefusesTheFault) {
  const GradcheckReport report = GetParam().check(Version::wrong);
  EXPECT_FALSE(report.ok);
  const bool says_why = report.message.find("wrong at") != std::string::npos ||
                        report.message.find("backward failed") != std::string::npos ||
                        report.message.find("expected f64 (") != std::string::npos;
  EXPECT_TRUE(says_why) << report.message;
  RecordProperty("message", report.message);
}

TEST_P(Teeth, AcceptsTheRightVersion) {
  const GradcheckReport report = GetParam().check(Version::right);
  EXPECT_TRUE(report.ok) << report.message;
  EXPECT_EQ(report.wrong, 0);
  EXPECT_GT(report.checked, 0);
}

std::string name_of(const testing::TestParamInfo<Fault>& test) { return test.param.name; }
INSTANTIATE_TEST_SUITE_P(Elementwise, Teeth, testing::ValuesIn(elementwise_faults()), name_of);
INSTANTIATE_TEST_SUITE_P(Reductions, Teeth, testing::ValuesIn(reduction_faults()), name_of);
INSTANTIATE_TEST_SUITE_P(Layout, Teeth, testing::ValuesIn(layout_faults()), name_of);
INSTANTIATE_TEST_SUITE_P(TwoInputs, Teeth, testing::ValuesIn(two_input_faults()), name_of);

}  // namespace
}  // namespace autograd
