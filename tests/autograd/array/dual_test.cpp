#include "autograd/array/dual.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "autograd/array/elementwise.h"
#include "autograd/array/layout.h"
#include "autograd/array/matmul.h"
#include "autograd/array/random.h"
#include "tests/support/tensors.h"

namespace autograd {
namespace {

using test::message_of;
using testing::HasSubstr;

struct Function {
  const char* name;
  std::function<Dual(Dual)> dual;
  std::function<double(double)> slope;
};

TEST(Dual, FunctionsCarryTheirDerivatives) {
  namespace vm = vector_math;
  const Function functions[] = {
      {"exp", [](Dual x) { return vm::exp(x); }, [](double x) { return std::exp(x); }},
      {"tanh", [](Dual x) { return vm::tanh(x); },
       [](double x) { return 1 / (std::cosh(x) * std::cosh(x)); }},
      {"cdf", [](Dual x) { return vm::normal(x).cdf; },
       [](double x) { return std::exp(-x * x / 2) / std::sqrt(2 * M_PI); }},
      {"density", [](Dual x) { return vm::normal(x).density; },
       [](double x) { return -x * std::exp(-x * x / 2) / std::sqrt(2 * M_PI); }},
      {"abs", [](Dual x) { return abs(x); }, [](double x) { return x > 0 ? 1 : -1; }},
      {"log", [](Dual x) { return log(abs(x)); }, [](double x) { return 1 / x; }},
      {"sqrt", [](Dual x) { return sqrt(x * x); }, [](double x) { return x > 0 ? 1 : -1; }},
      {"quotient", [](Dual x) { return 1 / (1 + x * x); },
       [](double x) { return -2 * x / std::pow(1 + x * x, 2); }},
      {"power", [](Dual x) { return pow(abs(x), x); },
       [](double x) { return std::pow(std::abs(x), x) * (std::log(std::abs(x)) + 1); }},
      {"cube", [](Dual x) { return pow(x, 3); }, [](double x) { return 3 * x * x; }},
  };
  for (const Function& f : functions) {
    for (const double x : {-2.5, -0.75, 0.3, 1.0, 4.0}) {
      const double want = 2 * f.slope(x);
      EXPECT_NEAR(f.dual({x, 2}).tangent, want, 1e-13 * std::abs(want) + 1e-15)
          << f.name << " at " << x;
    }
  }
}

/// Otherwise 0 * inf would spread NaN from every mask of -inf.
TEST(Dual, AConstantStaysOne) {
  const Dual inf = INFINITY, zero = 0;
  for (const Dual x : {-inf * 2, inf + 1, 1 / zero, 1 / inf, log(zero), sqrt(zero), inf / 2,
                       pow(zero, -1), vector_math::exp(-inf), vector_math::exp(inf),
                       vector_math::tanh(inf), vector_math::normal(inf).density}) {
    EXPECT_EQ(x.tangent, 0) << x.value;
  }
}

TEST(Dual, PowerAtZero) {
  EXPECT_EQ(pow(Dual(0, 1), 1).tangent, 1);
  EXPECT_EQ(pow(Dual(0, 1), 2).tangent, 0);
  EXPECT_EQ(pow(Dual(0, 1), 0).tangent, 0);
  EXPECT_EQ(pow(Dual(2, 1), 0).tangent, 0);
  EXPECT_EQ(pow(0, Dual(2, 1)).tangent, 0);
  // d/db of b a^(b - 1) at b = 0 is 1 / a: the slope is 0 there, but not constant.
  EXPECT_EQ(pow_slope_in_base<Dual>(4, Dual(0, 1)).tangent, 0.25);
  EXPECT_TRUE(is_constant_zero(pow_slope_in_base<Dual>(0, 0)));
}

Array some(const Shape& shape, std::uint64_t stream) {
  return dual(normal(shape, 0, 1, DType::f64, {7, stream}),
              normal(shape, 0, 1, DType::f64, {8, stream}));
}

TEST(DualArray, HasPartsAndPrintsNoOther) {
  const Array x = some({3, 5}, 0);
  EXPECT_EQ(x.dtype(), DType::dual);
  EXPECT_EQ(x.bytes(), 15 * 2 * sizeof(double));
  EXPECT_TRUE(bit_equal(dual(value_of(x), tangent_of(x)), x));
  EXPECT_THAT(message_of<ShapeError>(
                  [] { dual(Array::zeros({2}, DType::f64), Array::zeros({3}, DType::f64)); }),
              HasSubstr("dual: expected a tangent of shape (2,), got (3,)"));
  EXPECT_THAT(message_of<DTypeError>(
                  [] { dual(Array::zeros({2}, DType::f32), Array::zeros({2}, DType::f32)); }),
              HasSubstr("of f64, got f32 and f32"));
}

TEST(DualArray, DoesNotBecomeAFloat) {
  const Array x = some({2}, 1);
  for (const DType to : {DType::f32, DType::f64}) {
    EXPECT_THAT(message_of<DTypeError>([&] { x.to(to); }), HasSubstr("value_of and tangent_of"));
  }
  EXPECT_THAT(message_of<DTypeError>([&] { x.at(0); }), HasSubstr("value_of and tangent_of"));
  EXPECT_THAT(message_of<DTypeError>([&] { (void)x.read<double>(); }), HasSubstr("it is dual"));
  EXPECT_TRUE(bit_equal(x.to(DType::i64), value_of(x).to(DType::i64)));
  EXPECT_TRUE(bit_equal(x.to(DType::b8), value_of(x).to(DType::b8)));
}

TEST(DualArray, TakesF64AsConstantsAndNothingElse) {
  const Array x = some({2, 3}, 2), c = normal({3}, 0, 1, DType::f64, {9, 0});
  EXPECT_TRUE(bit_equal(x * c, x * c.to(DType::dual)));
  EXPECT_TRUE(bit_equal(c - x, c.to(DType::dual) - x));
  EXPECT_TRUE(bit_equal(tangent_of(c.to(DType::dual)), Array::zeros({3}, DType::f64)));
  const Array m = normal({3, 4}, 0, 1, DType::f64, {9, 1});
  EXPECT_TRUE(bit_equal(matmul(x, m), matmul(x, m.to(DType::dual))));
  const Array joined = concat(std::vector{c.reshape({1, 3}), x}, 0);
  EXPECT_TRUE(bit_equal(narrow(joined, 0, 1, 2), x));
  EXPECT_TRUE(bit_equal(value_of(narrow(joined, 0, 0, 1)), c.reshape({1, 3})));
  for (const DType other : {DType::f32, DType::i64}) {
    EXPECT_THAT(message_of<DTypeError>([&] { x* c.to(other); }),
                HasSubstr("mul: expected equal dtypes, got dual and"));
  }
  Array sum = c;
  EXPECT_THROW(add_in_place(sum, some({3}, 3)), DTypeError);
}

/// (A + A' e)(B + B' e) = A B + (A B' + A' B) e, transposed or not; the values are those of f64.
TEST(DualArray, Products) {
  for (const auto& [m, k, n] : {std::array<Index, 3>{1, 1, 1}, {5, 7, 3}, {150, 33, 129}}) {
    for (const Trans ta : {Trans::no, Trans::yes}) {
      for (const Trans tb : {Trans::no, Trans::yes}) {
        const Array a = some(ta == Trans::no ? Shape{2, m, k} : Shape{2, k, m}, 4);
        const Array b = some(tb == Trans::no ? Shape{2, k, n} : Shape{2, n, k}, 5);
        const Array c = matmul(a, b, ta, tb);
        EXPECT_TRUE(bit_equal(value_of(c), matmul(value_of(a), value_of(b), ta, tb)));
        const Array want =
            matmul(value_of(a), tangent_of(b), ta, tb) + matmul(tangent_of(a), value_of(b), ta, tb);
        const Array off = tangent_of(c) - want;
        for (const double x : off.read<double>()) ASSERT_NEAR(x, 0, 1e-12 * k);
      }
    }
  }
}

TEST(DualArray, IsFiniteInBothParts) {
  const Array one = Array::full({}, 1, DType::f64);
  EXPECT_TRUE(all_finite(dual(one, one)));
  for (const double bad : {INFINITY, -INFINITY, NAN}) {
    EXPECT_FALSE(all_finite(dual(one, Array::full({}, bad, DType::f64))));
    EXPECT_FALSE(all_finite(dual(Array::full({}, bad, DType::f64), one)));
  }
}

TEST(DualArray, RandomOnesAreConstants) {
  EXPECT_TRUE(bit_equal(uniform({9}, 0, 1, DType::dual, {1, 2}),
                        uniform({9}, 0, 1, DType::f64, {1, 2}).to(DType::dual)));
  EXPECT_TRUE(bit_equal(normal({9}, 0, 1, DType::dual, {1, 2}),
                        normal({9}, 0, 1, DType::f64, {1, 2}).to(DType::dual)));
}

}  // namespace
}  // namespace autograd
