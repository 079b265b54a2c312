#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "autograd/array/matmul.h"
#include "autograd/machine/parallel.h"
#include "tests/support/tensors.h"

// Values and gradients that were wrong somewhere else once, with the right ones.

namespace {

using namespace autograd;
using test::f64;
using test::leaf;
using test::message_of;
using test::near;
using testing::HasSubstr;

constexpr double kInf = std::numeric_limits<double>::infinity();
const double kNan = std::nan("");

TEST(Linear, TakesABatchOfNoRows) {
  Generator generator(1);
  const Tensor x = zeros({0, 5}, DType::f64).requires_grad_();
  const Tensor w = randn({3, 5}, DType::f64, generator).requires_grad_();
  const Tensor b = randn({3}, DType::f64, generator).requires_grad_();
  const Tensor y = linear(x, w, b);
  EXPECT_EQ(y.shape(), Shape({0, 3}));
  sum(y).backward();
  EXPECT_EQ(sum(y).item(), 0);
  EXPECT_TRUE(near(w.grad(), zeros({3, 5}), 0));
  EXPECT_TRUE(near(b.grad(), zeros({3}), 0));
  EXPECT_EQ(x.grad().shape(), Shape({0, 5}));
  EXPECT_NE(message_of<ShapeError>([&] {
              (void)linear(zeros({2, 4}, DType::f64), w);
            }).find("(2, 4) and (3, 5)"),
            std::string::npos);
}

TEST(Matmul, AgreesWithTheBatchFolded) {
  const Tensor a = leaf({1, 2}, {1, 2});
  const Tensor b = leaf({1, 1, 10, 10}, {2, 2, 1});
  const Tensor y = matmul(a, b);
  EXPECT_TRUE(near(y, f64({3, 30}, {2, 1, 1}), 0));
  sum(y).backward();
  EXPECT_TRUE(near(a.grad(), f64({11, 11}, {1, 2}), 0));
  EXPECT_TRUE(near(b.grad(), f64({1, 2, 1, 2}, {2, 2, 1}), 0));
}

TEST(Matmul, HasTheSameBitsForAnyThreadCount) {
  Generator generator(4);
  const int before = num_threads();
  const Index sizes[][3] = {
      {1024, 64, 64}, {300, 257, 65}, {64, 768, 768}, {1, 1000, 1000}, {1024, 8, 1024}};
  for (const auto& [m, k, n] : sizes) {
    const Array a = normal({m, k}, 0, 1, DType::f32, generator.next());
    const Array b = normal({k, n}, 0, 1, DType::f32, generator.next());
    set_num_threads(1);
    const Array c = matmul(a, b), d = matmul(c, b, Trans::no, Trans::yes);
    for (const int threads : {2, 3, 4}) {
      set_num_threads(threads);
      EXPECT_TRUE(bit_equal(matmul(a, b), c)) << m << " " << k << " " << n;
      EXPECT_TRUE(bit_equal(matmul(c, b, Trans::no, Trans::yes), d));
    }
  }
  set_num_threads(before);
}

TEST(Matmul, NamesBothShapes) {
  const std::string text = message_of<ShapeError>([] {
    (void)matmul(zeros({2, 3}), zeros({4, 5}));
  });
  EXPECT_NE(text.find("(2, 3)"), std::string::npos);
  EXPECT_NE(text.find("(4, 5)"), std::string::npos);
  EXPECT_EQ(matmul(zeros({2, 0}), zeros({0, 3})).shape(), Shape({2, 3}));
  EXPECT_EQ(sum(matmul(zeros({2, 0}), zeros({0, 3}))).item(), 0);
}

TEST(Split, GivesBackEveryPartOfTheGradient) {
  const Tensor x = zeros({2, 3, 12}, DType::f64).requires_grad_();
  const auto [q, k, v] = split<3>(x, 4, -1);
  sum(q * 1.0 + k * 2.0 + v * 3.0).backward();
  const Tensor row = f64({1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3});
  EXPECT_TRUE(near(x.grad(), row.expand({2, 3, 12}), 0));
  EXPECT_THROW((void)split<2>(x, 4, -1), ShapeError);
  EXPECT_EQ(split(x, 5, -1).back().shape(), Shape({2, 3, 2}));
}

TEST(Max, SharesTiesSoThatTheGradientSumsToOne) {
  const Tensor x = ones({4, 3}, DType::f64).requires_grad_();
  sum(max(x, {0})).backward();
  EXPECT_TRUE(near(x.grad(), full({4, 3}, 0.25, DType::f64), 0));
  const Tensor y = leaf({1, 3, 3});
  max(y).backward();
  EXPECT_TRUE(near(y.grad(), f64({0, 0.5, 0.5}), 0));
  const Tensor a = leaf({1, 2, 3}), b = leaf({3, 2, 1});
  sum(maximum(a, b)).backward();
  EXPECT_TRUE(near(a.grad(), f64({0, 0.5, 1}), 0));
  EXPECT_TRUE(near(b.grad(), f64({1, 0.5, 0}), 0));
  EXPECT_TRUE(std::isnan(maximum(f64({kNan}), f64({1})).item()));
  EXPECT_TRUE(std::isnan(minimum(f64({1}), f64({kNan})).item()));
}

TEST(Pow, HasFiniteSlopesAtZero) {
  const Tensor a = leaf({0, 2}), b = leaf({1, 1});
  sum(pow(a, b)).backward();
  EXPECT_TRUE(near(b.grad(), f64({0, 1.386294361}), 1e-9));
  EXPECT_TRUE(near(a.grad(), f64({1, 1}), 0));
  for (const double exponent : {2.0, 3.0, 0.0}) {
    const Tensor x = leaf({0});
    pow(x, exponent).backward();
    EXPECT_EQ(x.grad().item(), 0) << exponent;
  }
}

TEST(Norm, HasGradientZeroAtTheOrigin) {
  const Tensor x = leaf({0, 0});
  norm(x).backward();
  EXPECT_TRUE(near(x.grad(), f64({0, 0}), 0));
  const Tensor small = leaf({3e-200, 4e-200}), large = leaf({3e200, 4e200});
  EXPECT_NEAR(norm(small).item() / 5e-200, 1, 1e-15);
  EXPECT_NEAR(norm(large).item() / 5e200, 1, 1e-15);
  const Tensor big = full({2}, 3e38).requires_grad_();
  norm(big).backward();
  EXPECT_NEAR(big.grad().at({0}), 0.7071068, 1e-7);
  norm(large).backward();
  EXPECT_TRUE(near(large.grad(), f64({0.6, 0.8}), 1e-15));
  EXPECT_EQ(norm(zeros({0})).item(), 0);
  const Tensor y = leaf({0, 0});
  sqrt(sum(y * y)).backward();
  EXPECT_TRUE(std::isnan(y.grad().at({0}))) << "0 * inf, as the header of sqrt says";
}

TEST(Gelu, IsTameFarOut) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    for (const Gelu form : {Gelu::erf, Gelu::tanh}) {
      const Tensor x = tensor({-1e20, -500, -13.24, 13.24, 500}, dtype).requires_grad_();
      const Tensor y = gelu(x, form);
      sum(y).backward();
      EXPECT_TRUE(near(y.narrow(0, 0, 3), zeros({3}), 1e-30));
      EXPECT_NEAR(y.at({3}), 13.24, 1e-6);
      EXPECT_EQ(y.at({4}), 500);
      EXPECT_TRUE(near(x.grad(), f64({0, 0, 0, 1, 1}), 1e-6));
    }
  }
}

TEST(Gelu, FormsDifferInValueAndSlope) {
  Tensor x = leaf({1});
  Tensor y = gelu(x);
  y.backward();
  EXPECT_NEAR(y.item(), 0.8413447461, 1e-10);
  EXPECT_NEAR(x.grad().item(), 1.083315471, 1e-9);
  x.zero_grad();
  y = gelu(x, Gelu::tanh);
  y.backward();
  EXPECT_NEAR(y.item(), 0.8411919906, 1e-10);
  EXPECT_NEAR(x.grad().item(), 1.082964084, 1e-9);
}

/// x, value and slope of the tanh form, computed with 60 digits. At -5 the value is 2e-7 beside
/// terms of 1, which must not be subtracted from each other.
TEST(Gelu, TanhFormKeepsItsDigitsInTheTail) {
  constexpr double kTable[][3] = {{-10, -1.204092348209806e-37, -2.7576380638540316e-36},
                                  {-8, -3.1077829375011112e-21, -4.7147845041068416e-20},
                                  {-6, -8.4396467007622971e-11, -7.7099739309536955e-10},
                                  {-5.5, -5.927640263880262e-9, -4.6765528108074153e-8},
                                  {-5, -2.291796196629506e-7, -1.5463619875325946e-6},
                                  {-3, -0.0036373920817730188, -0.011584166630969726},
                                  {-1, -0.1588080093917233, -0.082964083845782555},
                                  {-0.25, -0.100324649298315, 0.30464590484893957},
                                  {0.5, 0.34571400982514392, 0.86736990353464231},
                                  {2, 1.954597694087775, 1.0860992566236184},
                                  {5, 4.9999997708203803, 1.0000015463619875}};
  for (const DType dtype : {DType::f32, DType::f64}) {
    const double tolerance = dtype == DType::f32 ? 1e-5 : 1e-13;
    for (const auto& [at, value, slope] : kTable) {
      const Tensor x = full({}, at, dtype).requires_grad_();
      const Tensor y = gelu(x, Gelu::tanh);
      y.backward();
      EXPECT_NEAR(y.item() / value, 1, tolerance) << at << ' ' << name(dtype);
      EXPECT_NEAR(x.grad().item() / slope, 1, tolerance) << at << ' ' << name(dtype);
    }
  }
}

/// 1 - y^2 and y (1 - y) are 0 once y has rounded to 1; the slopes are not.
TEST(Saturated, SlopesKeepTheirDigits) {
  struct Case {
    double at, sigmoid, tanh;
  };
  for (const Case& c : {Case{5, 0.0066480566707901549, 0.00018158323094380668},
                        Case{17, 4.1399373760035016e-8, 6.8556337261680284e-15},
                        Case{20, 2.0611536139418493e-9, 1.6993417021166356e-17},
                        Case{40, 4.248354255291589e-18, 7.2194055513816607e-35}}) {
    for (const DType dtype : {DType::f32, DType::f64}) {
      const double tolerance = dtype == DType::f32 ? 1e-5 : 1e-13;
      for (const double at : {c.at, -c.at}) {
        const Tensor x = full({}, at, dtype).requires_grad_();
        EXPECT_NEAR(grad(sigmoid(x), {x})[0].item() / c.sigmoid, 1, tolerance) << at;
        EXPECT_NEAR(grad(tanh(x), {x})[0].item() / c.tanh, 1, tolerance) << at;
      }
    }
  }
}

// --- NaN: no comparison in a rule may drop it, and PyTorch's gradients are the measure

TEST(Nan, OfEitherOperandGivesBothTheGradientOfAnExtreme) {
  const Tensor a = leaf({kNan, kNan, 1, 1, 2, 3}), b = leaf({kNan, 1, kNan, 1, 3, 2});
  const Tensor g = f64({8, 8, 8, 8, 8, 8});
  const auto high = grad(maximum(a, b), {a, b}, g);
  EXPECT_TRUE(near(high[0], f64({8, 8, 8, 4, 0, 8}), 0));
  EXPECT_TRUE(near(high[1], f64({8, 8, 8, 4, 8, 0}), 0));
  const auto low = grad(minimum(a, b), {a, b}, g);
  EXPECT_TRUE(near(low[0], f64({8, 8, 8, 4, 8, 0}), 0));
  EXPECT_TRUE(near(low[1], f64({8, 8, 8, 4, 0, 8}), 0));
}

TEST(Nan, WinsAReductionAndTakesItsGradient) {
  const Tensor x = leaf({1, kNan, 3, kNan, 5, 6}, {2, 3});
  for (const auto reduce : {static_cast<Tensor (*)(const Tensor&, Dims, KeepDim)>(max),
                            static_cast<Tensor (*)(const Tensor&, Dims, KeepDim)>(min)}) {
    const Tensor y = reduce(x, {1}, KeepDim::no);
    EXPECT_TRUE(near(y, f64({kNan, kNan}), 0));
    EXPECT_TRUE(near(grad(y, {x}, f64({2, 4}))[0], f64({0, 2, 0, 4, 0, 0}, {2, 3}), 0));
    const Tensor all = reduce(x, {}, KeepDim::no);
    EXPECT_TRUE(near(grad(all, {x})[0], f64({0, 0.5, 0, 0.5, 0, 0}, {2, 3}), 0));
  }
}

TEST(Nan, StaysInTheSlopeOfAbs) {
  const Tensor x = leaf({kNan, -1, 0, 2});
  EXPECT_TRUE(near(grad(abs(x), {x}, f64({3, 3, 3, 3}))[0], f64({kNan, -3, 0, 3}), 0));
}

/// The branch that was not chosen does not show in the value, but 0 * inf = NaN comes back from it.
/// The cure is to choose before the function, not behind it.
TEST(Nan, ComesFromTheBranchThatWasNotChosen) {
  const Tensor x = leaf({0, 4});
  const Tensor positive = gt(x, zeros({}, DType::f64)), one = ones({}, DType::f64);
  const Tensor behind = where(positive, sqrt(x), zeros({}, DType::f64));
  EXPECT_TRUE(near(behind, f64({0, 2}), 0));
  EXPECT_TRUE(near(grad(behind.sum(), {x})[0], f64({kNan, 0.25}), 0));
  const Tensor before = where(positive, sqrt(where(positive, x, one)), zeros({}, DType::f64));
  EXPECT_TRUE(near(before, f64({0, 2}), 0));
  EXPECT_TRUE(near(grad(before.sum(), {x})[0], f64({0, 0.25}), 0));
}

TEST(Pow, AtItsEdges) {
  const Tensor x = leaf({-2, 0, 0, kNan, -2});
  const Tensor n = leaf({3, -1, 0, 0, 0.5});
  const Tensor y = pow(x, n);
  EXPECT_TRUE(near(y, f64({-8, INFINITY, 1, 1, kNan}), 0));
  const auto g = grad(y, {x, n}, ones({5}, DType::f64));
  EXPECT_TRUE(near(g[0], f64({12, -INFINITY, 0, 0, kNan}), 1e-15));
  EXPECT_TRUE(near(g[1], f64({kNan, -INFINITY, 0, kNan, kNan}), 0));
}

TEST(Narrow, CountsANegativeStartFromTheEnd) {
  const Tensor x = leaf({0, 1, 2, 3, 4});
  const Tensor y = narrow(x, 0, -2, 2);
  EXPECT_TRUE(near(y, f64({3, 4}), 0));
  EXPECT_TRUE(near(grad(y, {x}, f64({7, 9}))[0], f64({0, 0, 0, 7, 9}), 0));
  EXPECT_TRUE(near(narrow(x, 0, -5, 5), x, 0));
  for (const auto& [start, length] : {std::pair<Index, Index>{-6, 1}, {-2, 3}, {6, 0}, {0, -1}}) {
    EXPECT_THROW(narrow(x, 0, start, length), ShapeError) << start;
  }
  EXPECT_THAT(message_of<ShapeError>([&] { narrow(x, 0, -2, 3); }), HasSubstr("got 3 from -2 on"));
}

TEST(MaskedFill, BroadcastsToTheMask) {
  const Tensor x = leaf({1, 2, 3, 4, 5});
  Tensor mask = Tensor(Array::zeros({5, 5}, DType::b8));
  mask.write<bool>([](std::span<bool> m) { m[0] = m[6] = m[7] = true; });
  const Tensor y = masked_fill(x, mask, -1);
  EXPECT_EQ(y.shape(), (Shape{5, 5}));
  EXPECT_EQ(y.at({0, 0}), -1);
  EXPECT_EQ(y.at({1, 2}), -1);
  EXPECT_EQ(y.at({4, 2}), 3);
  EXPECT_TRUE(near(grad(y.sum(), {x})[0], f64({4, 4, 4, 5, 5}), 0));
}

TEST(Relu, KeepsNan) {
  const Tensor x = leaf({kNan, -1, 2, 0});
  const Tensor y = relu(x);
  EXPECT_TRUE(near(y, f64({kNan, 0, 2, 0}), 0));
  sum(y).backward();
  EXPECT_TRUE(near(x.grad(), f64({1, 0, 1, 0}), 0)) << "as NaN <= 0 is false";
}

TEST(Embedding, AddsRepeatedRows) {
  const Tensor w = leaf({0, 1}, {2, 1});
  sum(embedding(w, tensor({0, 0}, DType::i64))).backward();
  EXPECT_TRUE(near(w.grad(), f64({2, 0}, {2, 1}), 0));
  const Tensor x = leaf({0.1}, {1, 1});
  embedding(x, tensor({0, 0}, DType::i64)).backward(f64({0.2, 0.3}, {2, 1}));
  EXPECT_NEAR(x.grad().item(), 0.5, 1e-16);
  EXPECT_THROW((void)embedding(w, tensor({0})), DTypeError);
}

TEST(Mean, OfWhichNothingIsLeft) {
  const Tensor x = leaf({1, 2, 3, 4});
  (x - mean(x)).backward(ones({4}, DType::f64), Retain::yes);
  EXPECT_TRUE(near(x.grad(), zeros({4}), 1e-15));
  const Tensor y = leaf({1, 2, 3, 4});
  (y - mean(y)).backward(f64({1, 0, 0, 0}));
  EXPECT_TRUE(near(y.grad(), f64({0.75, -0.25, -0.25, -0.25}), 1e-15));
}

TEST(Division, ByANumberIsExact) {
  EXPECT_EQ((f64({49}) / 49.0).item(), 1) << "49 * (1 / 49) is not";
  const Tensor x = leaf({2});
  (3.0 / x).backward();
  EXPECT_EQ(x.grad().item(), -0.75);
  EXPECT_EQ((1.0 - x).item(), -1);
}

TEST(Compare, KeepsIntegersApartThatAreOneDouble) {
  constexpr std::int64_t kBig = std::int64_t{1} << 53,
                         kMost = std::numeric_limits<std::int64_t>::max();
  const auto integers = [](std::vector<std::int64_t> values) {
    return from_values<std::int64_t>(values, {static_cast<Index>(values.size())});
  };
  const Tensor a = integers({kBig + 1, kMost}), b = integers({kBig, kMost - 1});
  EXPECT_TRUE(near(eq(a, b), f64({0, 0}), 0));
  EXPECT_TRUE(near(gt(a, b), f64({1, 1}), 0));
  EXPECT_FALSE(allclose(a, b, 0, 0.5));
  EXPECT_TRUE(allclose(a, b, 0, 1));
  EXPECT_TRUE(allclose(a, a, 0, 0));
  EXPECT_FALSE(allclose(integers({kMost}), integers({-kMost - 1}), 1, 1)) << "2^64 - 1 apart";
  EXPECT_NE(to_string(a).find("9007199254740993"), std::string::npos) << to_string(a);
}

TEST(Layout, WorksOnIndicesAndMasks) {
  const Tensor i = arange(6).reshape({2, -1});
  EXPECT_EQ(i.shape(), Shape({2, 3}));
  EXPECT_TRUE(near(i.transpose(0, 1).select(1, 1), f64({3, 4, 5}), 0));
  EXPECT_TRUE(near(stack({arange(2), arange(2)}, 0), f64({0, 1, 0, 1}, {2, 2}), 0));
  EXPECT_TRUE(near(tril(ones({2, 2})), f64({1, 0, 1, 1}, {2, 2}), 0));
  EXPECT_TRUE(near(logical_not(eq(arange(2), arange(2))), f64({0, 0}), 0));
  EXPECT_THROW((void)i.reshape({4, -1}), ShapeError);
  EXPECT_THROW((void)i.reshape({-1, -1}), ShapeError);
  EXPECT_EQ(reshape(i, {-1, 2}).shape(), (Shape{3, 2}));
  EXPECT_EQ(reshape(i, {1, 6}).shape(), (Shape{1, 6}));
  EXPECT_THROW((void)reshape(i, {-1, 4}), ShapeError);
  EXPECT_THROW((void)i.squeeze(0), ShapeError);
  EXPECT_EQ(i.unsqueeze(-1).shape(), Shape({2, 3, 1}));
  EXPECT_EQ(zeros({0, 4}).reshape({2, 0}).numel(), 0);
}

TEST(ZeroRank, TakesTheDimsOfOneElement) {
  const Tensor x = full({}, 3.0);
  EXPECT_EQ(argmax(x, -1).item(), 0);
  EXPECT_EQ(squeeze(x, 0).shape(), Shape({}));
  EXPECT_EQ(transpose(x, 0, -1).item(), 3);
  EXPECT_EQ(log_softmax(x, 0).item(), 0);
  EXPECT_THROW((void)argmax(x, 1), ShapeError);
  EXPECT_EQ(gt(x, x).op(), "gt");
  EXPECT_EQ(argmax(f64({1, 2}), 0).op(), "argmax");
  const Index far = std::numeric_limits<Index>::max();
  EXPECT_TRUE(near(tril(ones({2, 2}), far), ones({2, 2}), 0));
}

// --- messages

/// Every function in ops.h says its own name first, and not that of something it is made of.
TEST(Errors, NameTheFunctionThatWasCalled) {
  const Tensor i = arange(6).reshape({2, 3}), mask = eq(i, i);
  const Tensor x = zeros({2, 3}), other = zeros({4, 5}), d = zeros({2, 3}, DType::f64);
  const Tensor b8 = Tensor(Array::zeros({4, 5}, DType::b8));
  Generator generator(1);
  const std::pair<const char*, std::function<Tensor()>> calls[] = {
      {"add", [&] { return mask + mask; }},
      {"add", [&] { return x + other; }},
      {"add", [&] { return x + d; }},
      {"sub", [&] { return x - other; }},
      {"sub", [&] { return mask - mask; }},
      {"mul", [&] { return x * other; }},
      {"div", [&] { return x / other; }},
      {"div", [&] { return mask / 2.0; }},
      {"div", [&] { return 2.0 / mask; }},
      {"neg", [&] { return -mask; }},
      {"floor_divide", [&] { return floor_divide(i, x); }},
      {"floor_divide", [&] { return floor_divide(x, 2); }},
      {"remainder", [&] { return i % 0; }},
      {"scale", [&] { return scale(i, 2.0); }},
      {"scale", [&] { return mask * 2; }},
      {"shift", [&] { return shift(i, 2.0); }},
      {"maximum", [&] { return maximum(x, other); }},
      {"minimum", [&] { return minimum(i, i); }},
      {"pow", [&] { return pow(x, other); }},
      {"argsort", [&] { return argsort(x, 2); }},
      {"pow", [&] { return pow(i, 2); }},
      {"where", [&] { return where(x, x, x); }},
      {"where", [&] { return where(mask, x, d); }},
      {"where", [&] { return where(b8, x, x); }},
      {"where", [&] { return where(mask, i, i); }},
      {"abs", [&] { return abs(i); }},
      {"pow", [&] { return pow(2.0, i); }},
      {"sign", [&] { return sign(i); }},
      {"clamp", [&] { return clamp(i, 0, 1); }},
      {"clamp", [&] { return clamp(x, 0, kNan); }},
      {"square", [&] { return square(i); }},
      {"rsqrt", [&] { return rsqrt(i); }},
      {"sin", [&] { return sin(i); }},
      {"cos", [&] { return cos(i); }},
      {"softplus", [&] { return softplus(i); }},
      {"exp", [&] { return exp(i); }},
      {"log", [&] { return log(i); }},
      {"sqrt", [&] { return sqrt(i); }},
      {"tanh", [&] { return tanh(i); }},
      {"sigmoid", [&] { return sigmoid(i); }},
      {"relu", [&] { return relu(i); }},
      {"gelu", [&] { return gelu(i); }},
      {"gelu", [&] { return gelu(i, Gelu::tanh); }},
      {"norm", [&] { return norm(i); }},
      {"eq", [&] { return eq(x, other); }},
      {"lt", [&] { return lt(x, d); }},
      {"logical_not", [&] { return logical_not(x); }},
      {"logical_and", [&] { return logical_and(mask, b8); }},
      {"logical_or", [&] { return logical_or(mask, b8); }},
      {"logical_or", [&] { return x | mask; }},
      {"logical_xor", [&] { return logical_xor(mask, i); }},
      {"any", [&] { return any(i); }},
      {"any", [&] { return any(mask, 2); }},
      {"all", [&] { return all(x); }},
      {"all", [&] { return all(mask, -3); }},
      {"argmax", [&] { return argmax(i, 0); }},
      {"argmax", [&] { return argmax(x, 2); }},
      {"allclose", [&] { return full({}, allclose(x, d)); }},
      {"allclose", [&] { return full({}, allclose(x, other)); }},
      {"sum", [&] { return sum(x, {2}); }},
      {"mean", [&] { return mean(i); }},
      {"mean", [&] { return mean(x, {2}); }},
      {"var", [&] { return var(i); }},
      {"var", [&] { return var(x, 2); }},
      {"logsumexp", [&] { return logsumexp(i, 0); }},
      {"logsumexp", [&] { return logsumexp(x, 2); }},
      {"max", [&] { return max(i); }},
      {"min", [&] { return min(zeros({0})); }},
      {"matmul", [&] { return matmul(x, other); }},
      {"matmul", [&] { return matmul(i, i.transpose(0, 1)); }},
      {"linear", [&] { return linear(x, other); }},
      {"linear", [&] { return linear(x, d); }},
      {"linear", [&] { return linear(x, x, zeros({2}, DType::f64)); }},
      {"linear", [&] { return linear(i, i); }},
      {"softmax", [&] { return softmax(i, 0); }},
      {"softmax", [&] { return softmax(x, 2); }},
      {"log_softmax", [&] { return log_softmax(i, 0); }},
      {"log_softmax", [&] { return log_softmax(x, 2); }},
      {"masked_softmax", [&] { return masked_softmax(x, b8, 0); }},
      {"masked_softmax", [&] { return masked_softmax(x, x, 0); }},
      {"masked_softmax", [&] { return masked_softmax(i, mask, 0); }},
      {"masked_softmax", [&] { return masked_softmax(x, mask, 2); }},
      {"dropout", [&] { return dropout(i, 0.5, generator); }},
      {"dropout", [&] { return dropout(i, 0.0, generator); }},
      {"fused_attention", [&] { return fused_attention(x, 1); }},
      {"fused_attention",
       [&] {
         return fused_attention(i.reshape({1, 2, 3}), 1);
       }},
      {"fused_attention", [&] { return fused_attention(x, other, x); }},
      {"fused_attention", [&] { return fused_attention(i, i, i); }},
      {"fused_attention", [&] { return fused_attention(x, x, d); }},
      {"fused_attention", [&] { return fused_attention(x, x, x, {.attn_bias = d}); }},
      {"layer_norm", [&] { return layer_norm(i, Tensor(), Tensor()); }},
      {"layer_norm", [&] { return layer_norm(x, other, Tensor()); }},
      {"cross_entropy", [&] { return cross_entropy(x, x); }},
      {"cross_entropy", [&] { return cross_entropy(i, zeros({2}, DType::i64)); }},
      {"mse", [&] { return mse(x, other); }},
      {"mse", [&] { return mse(x, d); }},
      {"mse", [&] { return mse(i, i); }},
      {"reshape",
       [&] {
         return reshape(x, {4, -1});
       }},
      {"reshape", [&] { return reshape(x, {4}); }},
      {"reshape",
       [&] {
         return reshape(x, {-1, -1});
       }},
      {"reshape",
       [&] {
         return reshape(x, {-2, 3});
       }},
      {"reshape",
       [&] {
         return reshape(x, {0, -1});
       }},
      {"transpose", [&] { return transpose(x, 0, 2); }},
      {"permute",
       [&] {
         return x.permute({0, 0});
       }},
      {"squeeze", [&] { return squeeze(x, 0); }},
      {"squeeze", [&] { return squeeze(x, 2); }},
      {"unsqueeze", [&] { return unsqueeze(x, 4); }},
      {"expand",
       [&] {
         return expand(x, {2, 4});
       }},
      {"narrow", [&] { return narrow(x, 1, 2, 2); }},
      {"select", [&] { return select(x, 1, 3); }},
      {"split", [&] { return split(x, 0, 1)[0]; }},
      {"split", [&] { return split(x, 1, 2)[0]; }},
      {"concat",
       [&] {
         return concat({x, other}, 0);
       }},
      {"concat",
       [&] {
         return concat({x, d}, 0);
       }},
      {"stack",
       [&] {
         return stack({x, other}, 0);
       }},
      {"stack",
       [&] {
         return stack({x, d}, 0);
       }},
      {"tril", [&] { return tril(zeros({3})); }},
      {"masked_fill", [&] { return masked_fill(x, b8, 1); }},
      {"masked_fill", [&] { return masked_fill(x, x, 1); }},
      {"masked_fill", [&] { return masked_fill(i, mask, 1); }},
      {"embedding", [&] { return embedding(x, x); }},
      {"embedding", [&] { return embedding(x, i); }},
      {"embedding", [&] { return embedding(i, zeros({1}, DType::i64)); }},
      {"tensor",
       [&] {
         return tensor({1, 2, 3}, {2, 2});
       }},
      {"from_values",
       [&] {
         return from_values<double>(std::vector<double>{1, 2}, {3});
       }},
      {"uniform", [&] { return uniform({2}, 1, 0); }},
      {"normal", [&] { return normal({2}, 0, -1); }},
      {"randn", [&] { return randn({2}, DType::i64); }},
      {"arange", [&] { return arange(-1); }},
  };
  for (const auto& [name, call] : calls) {
    const std::string text = message_of<Error>(call);
    const std::string rest = text.substr(std::min(text.size(), std::string(name).size()));
    EXPECT_EQ(text.rfind(name, 0), 0u) << name << " said: " << text;
    EXPECT_TRUE(rest.rfind(": ", 0) == 0 || rest.rfind("_erf: ", 0) == 0 ||
                rest.rfind("_tanh: ", 0) == 0)
        << name << " said: " << text;
  }
}

/// Whole shapes, not the parts of them that an inner step looked at.
TEST(Errors, ShowWholeShapes) {
  const Tensor a = zeros({2, 4, 5}), b = zeros({3, 5, 6}), x = zeros({80});
  const auto says = [](auto call, std::initializer_list<const char*> parts) {
    const std::string text = message_of<ShapeError>(call);
    for (const char* part : parts) EXPECT_THAT(text, HasSubstr(part));
  };
  says([&] { (void)matmul(a, b); }, {"(2, 4, 5)", "(3, 5, 6)"});
  says([&] { (void)matmul(zeros({5}), zeros({4, 6})); }, {"(5,)", "(4, 6)"});
  says([&] { (void)matmul(zeros({4, 5}), zeros({6})); }, {"(4, 5)", "(6,)"});
  says([&] { (void)x.reshape({4, 6, -1}); }, {"(80,)", "80", "24", "(4, 6, -1)"});
  says([&] { (void)x.reshape({-1, 0}); }, {"(80,)", "(-1, 0)"});
  says([&] { (void)x.reshape({-1, -1}); }, {"(-1, -1)", "one"});
  const Tensor mask = Tensor(Array::zeros({4, 5}, DType::b8)), y = zeros({2, 3});
  says([&] { (void)masked_fill(y, mask, 0); }, {"mask", "(4, 5)", "(2, 3)"});
  says([&] { (void)masked_softmax(y, mask, 0); }, {"mask", "(4, 5)", "(2, 3)"});
  says([&] { (void)where(mask, y, zeros({1, 3})); }, {"(4, 5)", "(2, 3)", "(1, 3)"});
}

TEST(Allclose, TreatsSpecialValuesAsPyTorchDoes) {
  EXPECT_TRUE(allclose(f64({1, kInf}), f64({1 + 1e-9, kInf})));
  EXPECT_FALSE(allclose(f64({1}), f64({1.1})));
  EXPECT_FALSE(allclose(f64({kNan}), f64({kNan})));
  EXPECT_FALSE(allclose(f64({1}), f64({kInf})));
  EXPECT_THROW((void)allclose(f64({1}), tensor({1})), DTypeError);
}

TEST(Tensor, ReadsElements) {
  const Tensor x = f64({1, 2, 3, 4}, {2, 2});
  EXPECT_EQ(x.at({1, 0}), 3);
  EXPECT_EQ(x.at({-1, -1}), 4);
  EXPECT_THROW((void)x.at({2, 0}), ValueError);
  EXPECT_THROW((void)x.at({0}), ShapeError);
  EXPECT_THROW((void)x.item(), ShapeError);
  EXPECT_THROW((void)x.dims<3>("attention: x is (B, T, C)"), ShapeError);
  EXPECT_THROW((void)tensor({1, 2}, Shape{3}), ShapeError);
}

}  // namespace
